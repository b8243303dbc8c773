/* Columns of text: numbers, keys and bytes in records become entries of a dictionary. */
#include <stdio.h>
#include <string.h>

#include "etl/hash.h"
#include "decode/gather.h"
#include "decode/text_columns.h"

/* The entry of a text, or a negative number: then the row has none.  A want of memory is said
 * after the block, for a NULL would be a lie. */
static int32_t entry_of(const struct gather *g, uint64_t id, const char *text, size_t length)
{
	int32_t entry = dictionary_add(g->dictionary, id, text, length);

	g->process->lacks_memory |= entry == DICTIONARY_NO_MEMORY;
	g->process->cut[g->table] += entry == DICTIONARY_FULL;
	return entry;
}

static int32_t entry_of_new(const struct gather *g, const char *text, size_t length)
{
	return entry_of(g, etl_hash(text, length), text, length);
}

/* The names of kernels are told apart, as they are demangled elsewhere. */
static void note_name(const struct gather *g, struct text_table *texts, uint32_t index,
		      uint64_t id, const char *text, size_t length)
{
	if (text_mark(texts, index) &&
	    dictionary_add(&g->process->names, id, text, length) == DICTIONARY_NO_MEMORY)
		g->process->lacks_memory = true;
}

static int32_t entry_of_string(const struct gather *g, uint64_t id)
{
	struct text_table *texts = &g->process->texts;
	uint32_t index = text_find(texts, id);
	const char *text;
	size_t length;

	if (!id)
		return -1;
	if (index == NO_TEXT) {
		bool is_full = texts->is_full;

		/* What is a function's name, too, was published as that. */
		texts = &g->process->api_texts;
		index = text_find(texts, id);
		if (index == NO_TEXT) {
			g->process->cut[g->table] += is_full;
			g->process->decoded.unresolved_strings += !is_full;
			return -1;
		}
	}
	text = texts->bytes + texts->starts[index];
	length = texts->starts[index + 1] - texts->starts[index];
	if (g->is_kernel_name)
		note_name(g, texts, index, id, text, length);
	return entry_of(g, id, text, length);
}

static int32_t entry_of_enum(const struct gather *g, uint64_t value)
{
	char number[24];
	int length;

	if (g->column->has_null && value == g->column->null)
		return -1;
	for (uint32_t l = 0; l < g->column->n_labels; l++)
		if (g->column->labels[l].value == value)
			return entry_of_new(g, g->column->labels[l].text,
					    strlen(g->column->labels[l].text));
	/* A value newer than this program: its number says more than nothing. */
	length = snprintf(number, sizeof number, "%llu", (unsigned long long)value);
	return entry_of_new(g, number, (size_t)length);
}

static int32_t entry_of_api(const struct gather *g, uint64_t key)
{
	const struct text_table *texts = &g->process->api_texts;
	uint32_t cbid = (uint32_t)key, text;

	if (cbid >= ETL_MAX_CBID)
		return -1;
	text = g->process->api_text[api_domain((uint32_t)(key >> 32))][cbid];
	if (!text)
		return -1;
	return entry_of_new(g, texts->bytes + texts->starts[text - 1],
			    texts->starts[text] - texts->starts[text - 1]);
}

static int32_t entry_of_uuid(const struct gather *g, unsigned i)
{
	const uint8_t *u = g->base + g->offset + g->at[i];
	static const uint8_t zero[16];
	char text[48];
	int length;

	if (g->column->has_null && memcmp(u, zero, 16) == 0)
		return -1;
	length = snprintf(text, sizeof text,
			  "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			  strncmp(g->column->name, "mig_", 4) == 0 ? "MIG" : "GPU", u[0], u[1],
			  u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
			  u[13], u[14], u[15]);
	return entry_of_new(g, text, (size_t)length);
}

static uint64_t gather_uuid(const struct gather *g, void *values)
{
	int32_t *out = values;
	uint64_t valid = 0;

	for (unsigned i = 0; i < g->n; i++) {
		int32_t entry = entry_of_uuid(g, i);

		out[i] = entry < 0 ? 0 : entry;
		valid |= (uint64_t)(entry >= 0) << i;
	}
	return valid;
}

typedef int32_t entry_fn(const struct gather *g, uint64_t key);

/* The entry of a value that was not met lately. */
static __attribute__((noinline)) int32_t new_entry(const struct gather *g, uint64_t key,
						   entry_fn *entry_for, struct recent *recent)
{
	int32_t entry = entry_for(g, key);

	/* What has no text yet may have one later. */
	if (entry >= 0)
		*recent = (struct recent){ key, entry, g->dictionary->epoch };
	return entry;
}

static inline uint64_t gather_text(const struct gather *g, int32_t *out, size_t width,
				   entry_fn *entry_for)
{
	struct recent *const recent = g->dictionary->recent;
	const uint32_t epoch = g->dictionary->epoch;
	const uint64_t mask = mask_of(g->column);
	const uint8_t *const base = g->base;
	const uint32_t *const at = g->at;
	const size_t offset = g->offset;
	uint64_t valid = ~UINT64_C(0);

	for (unsigned i = 0; i < g->n; i++) {
		uint64_t key = 0;
		struct recent *one;

		memcpy(&key, base + at[i] + offset, width); /* little-endian */
		key &= mask;
		if (entry_for == entry_of_api)
			key = (key < ETL_MAX_CBID ? key : ETL_MAX_CBID) |
			      (uint64_t)activity_of(base + at[i]) << 32;
		one = &recent[(entry_for == entry_of_api ? key ^ key >> 26 : key) % RECENT];
		if (one->key == key && one->epoch == epoch) {
			out[i] = one->entry;
		} else {
			int32_t entry = new_entry(g, key, entry_for, one);

			out[i] = entry < 0 ? 0 : entry;
			valid ^= (uint64_t)(entry < 0) << i;
		}
	}
	return valid;
}

#define TEXT(NAME, WIDTH)                                                                     \
	static uint64_t gather_##NAME##_##WIDTH(const struct gather *g, void *values)         \
	{                                                                                     \
		return gather_text(g, values, WIDTH, entry_of_##NAME);                         \
	}

TEXT(enum, 1)
TEXT(enum, 2)
TEXT(enum, 4)
TEXT(enum, 8)
TEXT(string, 8)
TEXT(api, 1)
TEXT(api, 2)
TEXT(api, 4)
TEXT(api, 8)

gather_fn *text_for(const struct etl_column *column, uint8_t width)
{
	unsigned log = (unsigned)__builtin_ctz(width | 8u); /* 1, 2, 4, 8 are 0 to 3 */
	gather_fn *const enums[] = { gather_enum_1, gather_enum_2, gather_enum_4, gather_enum_8 };
	gather_fn *const apis[] = { gather_api_1, gather_api_2, gather_api_4, gather_api_8 };

	if (column->type == ETL_UUID)
		return width == 16 ? gather_uuid : gather_nothing;
	if (width != 1u << log)
		return gather_nothing;
	if (column->type == ETL_STRING)
		return width == 8 ? gather_string_8 : gather_nothing;
	return column->type == ETL_ENUM ? enums[log] : apis[log];
}

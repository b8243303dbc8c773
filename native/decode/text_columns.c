/* Columns of text: numbers, keys and bytes in records become entries of a dictionary. */
#include <stdio.h>
#include <string.h>

#include "decode/decode.h"

static uint32_t text_of_string(const struct gather *g, uint64_t id)
{
	uint32_t text;

	if (!id)
		return NO_TEXT;
	text = text_find(&g->process->decoder->texts, id);
	g->process->decoded.unresolved_strings += text == NO_TEXT;
	return text;
}

/* What finds no room here and below is said after the block, for a NULL would be a lie. */
static uint32_t new_text(const struct gather *g, const char *text, size_t length)
{
	uint32_t found = text_add(&g->process->decoder->texts, text, length);

	g->process->lacks_memory |= found == NO_TEXT;
	return found;
}

static int32_t entry_of(const struct gather *g, uint32_t text)
{
	int32_t entry = text == NO_TEXT ? -1 : dictionary_entry(g->dictionary, text);

	g->process->lacks_memory |= entry < 0 && text != NO_TEXT;
	return entry;
}

static uint32_t text_of_enum(const struct gather *g, uint64_t value)
{
	char number[24];
	int length;

	if (g->column->has_null && value == g->column->null)
		return NO_TEXT;
	for (uint32_t l = 0; l < g->column->n_labels; l++)
		if (g->column->labels[l].value == value)
			return new_text(g, g->column->labels[l].text,
					strlen(g->column->labels[l].text));
	/* A value newer than this program: its number says more than nothing. */
	length = snprintf(number, sizeof number, "%llu", (unsigned long long)value);
	return new_text(g, number, (size_t)length);
}

static uint32_t text_of_api(const struct gather *g, uint64_t key)
{
	uint32_t cbid = (uint32_t)key;

	if (cbid >= ETL_MAX_CBID)
		return NO_TEXT;
	/* 0 - 1 is NO_TEXT */
	return g->process->api_text[api_domain((uint32_t)(key >> 32))][cbid] - 1;
}

static uint32_t text_of_uuid(const struct gather *g, unsigned i)
{
	const uint8_t *u = g->base + g->offset + g->at[i];
	static const uint8_t zero[16];
	char text[48];
	int length;

	if (g->column->has_null && memcmp(u, zero, 16) == 0)
		return NO_TEXT;
	length = snprintf(text, sizeof text,
			  "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			  strncmp(g->column->name, "mig_", 4) == 0 ? "MIG" : "GPU", u[0], u[1],
			  u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
			  u[13], u[14], u[15]);
	return new_text(g, text, (size_t)length);
}

static uint64_t gather_uuid(const struct gather *g, void *values)
{
	int32_t *out = values;
	uint64_t valid = 0;

	for (unsigned i = 0; i < g->n; i++) {
		uint32_t text = text_of_uuid(g, i);
		int32_t entry = entry_of(g, text);

		out[i] = entry < 0 ? 0 : entry;
		valid |= (uint64_t)(entry >= 0) << i;
	}
	return valid;
}

typedef uint32_t text_fn(const struct gather *g, uint64_t key);

/* The entry of a value that was not met lately. */
static __attribute__((noinline)) int32_t new_entry(const struct gather *g, uint64_t key,
						   text_fn *text_of, struct recent *recent)
{
	uint32_t text = text_of(g, key);
	int32_t entry = entry_of(g, text);

	/* What has no text yet may have one later. */
	if (entry >= 0)
		*recent = (struct recent){ key, entry, g->dictionary->epoch };
	return entry;
}

static inline uint64_t gather_text(const struct gather *g, int32_t *out, size_t width,
				   text_fn *text_of)
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
		if (text_of == text_of_api)
			key = (key < ETL_MAX_CBID ? key : ETL_MAX_CBID) |
			      (uint64_t)activity_of(base + at[i]) << 32;
		one = &recent[(text_of == text_of_api ? key ^ key >> 26 : key) % RECENT];
		if (one->key == key && one->epoch == epoch) {
			out[i] = one->entry;
		} else {
			int32_t entry = new_entry(g, key, text_of, one);

			out[i] = entry < 0 ? 0 : entry;
			valid ^= (uint64_t)(entry < 0) << i;
		}
	}
	return valid;
}

#define TEXT(NAME, WIDTH)                                                                     \
	static uint64_t gather_##NAME##_##WIDTH(const struct gather *g, void *values)         \
	{                                                                                     \
		return gather_text(g, values, WIDTH, text_of_##NAME);                         \
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

#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"

/* Reads each record's member as IN, stores it as OUT; bit i of the result says that
 * record i's value is known. */
#define COPY(IN, OUT)                                                                         \
	do {                                                                                  \
		OUT *out = (OUT *)g->out->values + g->row;                                    \
		const IN mask = column->mask ? (IN)column->mask : (IN)~(IN)0;                 \
		const IN null = (IN)column->null;                                             \
		if (column->has_null) {                                                       \
			valid = 0;                                                            \
			for (unsigned i = 0; i < n; i++) {                                    \
				IN v;                                                         \
				memcpy(&v, g->records[i] + offset, sizeof v);                 \
				v = (IN)(v & mask);                                           \
				out[i] = (OUT)v;                                              \
				valid |= (uint64_t)(v != null) << i;                          \
			}                                                                     \
		} else {                                                                      \
			for (unsigned i = 0; i < n; i++) {                                    \
				IN v;                                                         \
				memcpy(&v, g->records[i] + offset, sizeof v);                 \
				out[i] = (OUT)(IN)(v & mask);                                 \
			}                                                                     \
		}                                                                             \
	} while (0)

static uint64_t gather_number(const struct gather *g)
{
	const struct etl_column *column = g->column;
	const uint16_t offset = g->offset;
	const unsigned n = g->n;
	uint64_t valid = ~UINT64_C(0);

	switch (column_value_bytes(column) << 4 | g->width) {
	case 2 << 4 | 1:
		COPY(uint8_t, int16_t);
		break;
	case 2 << 4 | 2:
		COPY(uint16_t, int16_t);
		break;
	case 4 << 4 | 1:
		COPY(uint8_t, int32_t);
		break;
	case 4 << 4 | 2:
		COPY(uint16_t, int32_t);
		break;
	case 4 << 4 | 4:
		COPY(uint32_t, int32_t);
		break;
	case 4 << 4 | 8: /* thread ids of user-defined records */
		COPY(uint64_t, int32_t);
		break;
	case 8 << 4 | 1:
		COPY(uint8_t, int64_t);
		break;
	case 8 << 4 | 2:
		COPY(uint16_t, int64_t);
		break;
	case 8 << 4 | 4:
		COPY(uint32_t, int64_t);
		break;
	default:
		COPY(uint64_t, int64_t);
		break;
	}
	return valid;
}

/* The member as a number, whatever its width. */
static uint64_t member(const struct gather *g, unsigned i)
{
	uint64_t value = 0;

	memcpy(&value, g->records[i] + g->offset, g->width); /* little-endian */
	return g->column->mask ? value & g->column->mask : value;
}

static uint64_t gather_bool(const struct gather *g)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < g->n; i++)
		bits |= (uint64_t)(member(g, i) != 0) << i;
	put_bits(g->out->values, g->row, bits, g->n);
	return ~UINT64_C(0);
}

/* CUPTI counts API calls with 32 bits, which wrap within hours.  Records come out of
 * order, but never by half of the range: the nearest of the possible values is it. */
static uint64_t gather_correlation(const struct gather *g)
{
	int64_t *out = (int64_t *)g->out->values + g->row;
	uint64_t last = g->process->last_correlation, valid = 0;
	const uint64_t wrap = UINT64_C(1) << 32;

	for (unsigned i = 0; i < g->n; i++) {
		uint64_t id = 0, wide;

		memcpy(&id, g->records[i] + g->offset, g->width);
		if (id >= wrap) {
			out[i] = (int64_t)id; /* of a user-defined record */
			valid |= UINT64_C(1) << i;
			continue;
		}
		wide = (last & ~(wrap - 1)) | id;
		if (wide > last && wide - last > wrap / 2 && wide >= wrap)
			wide -= wrap;
		else if (last > wide && last - wide > wrap / 2)
			wide += wrap;
		out[i] = id ? (int64_t)wide : 0;
		valid |= (uint64_t)(id != 0) << i;
		if (id)
			last = wide;
	}
	g->process->last_correlation = last;
	return valid;
}

/* ---- text columns */

static uint32_t text_of_string(const struct gather *g, unsigned i)
{
	uint64_t id;
	uint32_t text;

	memcpy(&id, g->records[i] + g->offset, sizeof id);
	if (!id)
		return NO_TEXT;
	text = text_find(&g->process->decoder->texts, id);
	g->process->decoded.unresolved_strings += text == NO_TEXT;
	return text;
}

static uint32_t new_text(const struct gather *g, const char *text, size_t length)
{
	uint32_t found = text_add(&g->process->decoder->texts, text, length);

	g->process->lacks_memory |= found == NO_TEXT;
	return found;
}

static uint32_t text_of_enum(const struct gather *g, unsigned i, int table, uint32_t c)
{
	struct etl_decoder *decoder = g->process->decoder;
	uint64_t value = member(g, i);
	char number[24];
	int length;

	if (g->column->has_null && value == g->column->null)
		return NO_TEXT;
	if (value < 32 && decoder->label_text[table][c][value])
		return decoder->label_text[table][c][value] - 1;
	/* Some enumerations count in their upper half. */
	for (uint32_t l = 0; value >= 32 && l < g->column->n_labels; l++)
		if (g->column->labels[l].value == value)
			return new_text(g, g->column->labels[l].text,
					strlen(g->column->labels[l].text));
	/* A value newer than this program: its number says more than nothing. */
	length = snprintf(number, sizeof number, "%llu", (unsigned long long)value);
	return new_text(g, number, (size_t)length);
}

static uint32_t text_of_uuid(const struct gather *g, unsigned i)
{
	const uint8_t *u = g->records[i] + g->offset;
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

static uint32_t text_of_api(const struct gather *g, unsigned i)
{
	uint32_t activity;
	uint64_t cbid = member(g, i);

	memcpy(&activity, g->records[i], sizeof activity);
	if (cbid >= ETL_MAX_CBID)
		return NO_TEXT;
	return g->process->api_text[api_domain(activity)][cbid] - 1; /* 0 - 1 is NO_TEXT */
}

static uint64_t gather_text(const struct gather *g, int table, uint32_t c)
{
	int32_t *out = (int32_t *)g->out->values + g->row;
	uint64_t valid = 0;

	for (unsigned i = 0; i < g->n; i++) {
		uint32_t text = NO_TEXT;
		int32_t entry = -1;

		switch ((enum etl_type)g->column->type) {
		case ETL_STRING:
			text = text_of_string(g, i);
			break;
		case ETL_ENUM:
			text = text_of_enum(g, i, table, c);
			break;
		case ETL_UUID:
			text = text_of_uuid(g, i);
			break;
		default:
			text = text_of_api(g, i);
			break;
		}
		if (text != NO_TEXT) {
			entry = dictionary_entry(&g->out->dictionary, text);
			g->process->lacks_memory |= entry < 0;
		}
		out[i] = entry < 0 ? 0 : entry;
		valid |= (uint64_t)(entry >= 0) << i;
	}
	return valid;
}

/* Bit i says that record i is one of those in which the column has a meaning. */
static uint64_t applicable(const struct gather *g)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < g->n; i++) {
		uint32_t found;
		bool is_one = false;

		memcpy(&found, g->records[i] + g->only_at, sizeof found);
		for (uint16_t value = 0; value < g->column->n_only; value++)
			is_one |= found == g->column->only[value];
		bits |= (uint64_t)is_one << i;
	}
	return bits;
}

static uint64_t gather_nothing(const struct gather *g)
{
	size_t each = column_value_bytes(g->column);

	if (each)
		memset((uint8_t *)g->out->values + (size_t)g->row * each, 0, g->n * each);
	else
		put_bits(g->out->values, g->row, 0, g->n);
	return 0;
}

static uint64_t gather_process(const struct gather *g)
{
	int64_t *out = (int64_t *)g->out->values + g->row;

	for (unsigned i = 0; i < g->n; i++)
		out[i] = (int64_t)g->process->process_id;
	return ~UINT64_C(0);
}

uint64_t gather(const struct gather *g, int table, uint32_t c, uint64_t *here)
{
	*here = g->n < 64 ? (UINT64_C(1) << g->n) - 1 : ~UINT64_C(0);
	if (g->column->type == ETL_PROCESS)
		return gather_process(g);
	if (g->width == 0) {
		*here = 0;
		return gather_nothing(g);
	}
	if (g->only_at != ETL_ANYWHERE)
		*here &= applicable(g);
	if (column_is_text(g->column))
		return gather_text(g, table, c);
	if (g->column->type == ETL_BOOL)
		return gather_bool(g);
	if (g->column->type == ETL_CORRELATION)
		return gather_correlation(g);
	return gather_number(g);
}

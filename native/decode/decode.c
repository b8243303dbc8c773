#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "etl/hash.h"

#define PREFETCH 4096 /* bytes ahead */

/* One column of up to 64 records. */
struct gather {
	struct etl_process *process;
	struct column_builder *out;
	const struct etl_column *column;
	const uint8_t *const *records;
	unsigned n;
	uint16_t offset;
	uint8_t width;
	int64_t row;
};

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
		uint32_t id;
		uint64_t wide;

		memcpy(&id, g->records[i] + g->offset, sizeof id);
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
	for (uint32_t l = 0; value >= 32 && l < g->column->n_labels; l++)
		if (g->column->labels[l].value == value)
			return text_add(&decoder->texts, g->column->labels[l].text,
					strlen(g->column->labels[l].text));
	/* A value newer than this program: its number says more than nothing. */
	length = snprintf(number, sizeof number, "%llu", (unsigned long long)value);
	return text_add(&decoder->texts, number, (size_t)length);
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
	return text_add(&g->process->decoder->texts, text, (size_t)length);
}

/* 0 for the driver's functions, 1 for the runtime's, by activity kind. */
static int api_domain(uint32_t activity)
{
	return activity == 5;
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
		if (text != NO_TEXT)
			entry = dictionary_entry(&g->out->dictionary, text);
		out[i] = entry < 0 ? 0 : entry;
		valid |= (uint64_t)(entry >= 0) << i;
	}
	return valid;
}

/* Bit i says that record i has the value there. */
static uint64_t having(const struct gather *g, uint16_t at, uint32_t value)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < g->n; i++) {
		uint32_t found;

		memcpy(&found, g->records[i] + at, sizeof found);
		bits |= (uint64_t)(found == value) << i;
	}
	return bits;
}

/* ---- blocks */

static int decode_block(struct etl_process *process, int table)
{
	struct builder *builder = &process->decoder->builders[table];
	const struct etl_kind *kind = builder->kind;
	const struct etl_layout *layout = &process->layouts[table];
	unsigned n = process->n_waiting[table];

	process->n_waiting[table] = 0;
	if (n == 0)
		return 0;
	if (builder_reserve(builder, n) < 0)
		return -ENOMEM;
	for (uint32_t c = 0; c < kind->n_columns; c++) {
		const struct etl_column *column = &kind->columns[c];
		struct gather g = { process, &builder->columns[c], column,
				    process->waiting[table], n, layout->offset[c],
				    layout->width[c], builder->rows };
		uint64_t valid = ~UINT64_C(0), all = n < 64 ? (UINT64_C(1) << n) - 1 : valid;

		if (column->type == ETL_PROCESS) {
			int64_t *out = (int64_t *)g.out->values + g.row;

			for (unsigned i = 0; i < n; i++)
				out[i] = (int64_t)process->process_id;
		} else if (g.width == 0) {
			size_t each = column_value_bytes(column);

			if (each)
				memset((uint8_t *)g.out->values + (size_t)g.row * each, 0, n * each);
			else
				put_bits(g.out->values, g.row, 0, n);
			valid = 0;
		} else if (column_is_text(column)) {
			valid = gather_text(&g, table, c);
		} else if (column->type == ETL_BOOL) {
			valid = gather_bool(&g);
		} else if (column->type == ETL_CORRELATION) {
			valid = gather_correlation(&g);
		} else {
			valid = gather_number(&g);
		}
		if (column->only_at && g.width)
			valid &= having(&g, column->only_at, column->only_value);
		put_bits(g.out->valid, g.row, valid, n);
		if ((valid & all) != all) {
			int nulls = (int)n - __builtin_popcountll(valid & all);

			g.out->nulls += nulls;
			if (g.width)
				process->nulls[table][c] += (uint64_t)nulls;
		}
	}
	builder->rows += n;
	process->stored[table] += n;
	return 0;
}

static int decode_records(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = 0;
	int result = 0;

	while (at + sizeof(uint32_t) <= bytes) {
		const uint8_t *record = data + at;
		uint32_t activity, stride;
		int table;

		memcpy(&activity, record, sizeof activity);
		stride = activity < ETL_MAX_KIND ? process->stride[activity] : 0;
		if (stride < 8 || stride > bytes - at)
			break;
		/* The slot was written by another core and is cold here; records are too far
		 * apart for the hardware to guess the next one. */
		for (uint32_t line = 0; line < stride; line += 64)
			__builtin_prefetch(record + PREFETCH + line);
		at += stride;
		table = etl_table_of_kind((int)activity);
		if ((activity == 4 || activity == 5) && stride >= 8) {
			uint32_t cbid;

			memcpy(&cbid, record + 4, sizeof cbid);
			if (cbid == ETL_CANARY_CBID)
				continue;
			if (cbid < ETL_MAX_CBID && process->api_drop[api_domain(activity)][cbid]) {
				process->decoded.filtered++;
				continue;
			}
		}
		process->decoded.records++;
		if (table < 0) {
			process->unknown[activity]++;
			continue;
		}
		process->waiting[table][process->n_waiting[table]++] = record;
		if (process->n_waiting[table] == BLOCK) {
			result = decode_block(process, table);
			if (result < 0)
				return result;
		}
	}
	process->decoded.unreadable_bytes += bytes - at;
	for (int table = 0; table < ETL_N_KINDS; table++) {
		result = decode_block(process, table);
		if (result < 0)
			return result;
	}
	return 0;
}

static int decode_strings(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = 0;

	while (bytes - at >= sizeof(struct etl_string_entry)) {
		struct etl_string_entry entry;
		uint32_t activity, cbid, text, left;

		memcpy(&entry, data + at, sizeof entry);
		left = bytes - at - (uint32_t)sizeof entry;
		if (entry.length > left || entry.id != etl_hash(data + at + sizeof entry, entry.length)) {
			process->decoded.damaged_strings++;
			break;
		}
		text = text_add(&process->decoder->texts, (const char *)data + at + sizeof entry,
				entry.length);
		if (text == NO_TEXT)
			return -ENOMEM;
		activity = entry.tag >> 16;
		cbid = entry.tag & 0xffff;
		if ((activity == 4 || activity == 5) && cbid < ETL_MAX_CBID) {
			process->api_text[api_domain(activity)][cbid] = text + 1;
			process->api_drop[api_domain(activity)][cbid] =
				(entry.flags & ETL_API_DROP) != 0;
		}
		at += (uint32_t)sizeof entry;
		at += entry.length + 7 > left ? left : (uint32_t)(entry.length + 7) & ~7u;
	}
	return 0;
}

int etl_process_decode(struct etl_process *process, const uint8_t *data, uint32_t bytes,
		       uint32_t content, char *message)
{
	int result = 0;

	process_refresh(process);
	process->decoded.slots++;
	if (content == ETL_RECORDS)
		result = decode_records(process, data, bytes);
	else if (content == ETL_STRINGS)
		result = decode_strings(process, data, bytes);
	else
		process->decoded.unreadable_bytes += bytes;
	if (result < 0)
		snprintf(message, ETL_MESSAGE_BYTES, "no memory for decoding a slot");
	return result;
}

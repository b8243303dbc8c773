#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "etl/hash.h"

#define PREFETCH 4096 /* bytes ahead */

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
				    layout->only_at[c], layout->width[c], builder->rows };
		/* Where a column has no meaning, no value is missing. */
		uint64_t here, valid = gather(&g, table, c, &here) & here;

		put_bits(g.out->valid, g.row, valid, n);
		g.out->nulls += (int)n - __builtin_popcountll(valid);
		process->nulls[table][c] += (uint64_t)__builtin_popcountll(here & ~valid);
	}
	builder->rows += n;
	process->stored[table] += n;
	return process->lacks_memory ? -ENOMEM : 0;
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
		if ((activity == 4 || activity == 5) && process->cbid_at + 4 <= stride) {
			uint32_t cbid;

			memcpy(&cbid, record + process->cbid_at, sizeof cbid);
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
	uint64_t before = process->decoded.records + process->decoded.filtered;
	int result = 0;

	process_refresh(process);
	process->decoded.slots++;
	process->lacks_memory = false;
	if (content == ETL_RECORDS)
		result = decode_records(process, data, bytes);
	else if (content == ETL_STRINGS)
		result = decode_strings(process, data, bytes);
	else
		process->decoded.unreadable_bytes += bytes;
	if (result < 0) {
		/* What waits lies in the slot, which is not ours for longer than this call. */
		memset(process->n_waiting, 0, sizeof process->n_waiting);
		snprintf(message, ETL_MESSAGE_BYTES, "no memory for decoding a slot");
	}
	/* A collector that comes after us leaves these out of its sums. */
	etl_add(&process->header->drained,
		process->decoded.records + process->decoded.filtered - before);
	etl_put(&process->header->drained_ns, (uint64_t)now_ns());
	return result;
}

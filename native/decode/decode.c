#include <errno.h>
#include <string.h>

#include "etl/clock.h"
#include "etl/hash.h"
#include "decode/callbacks.h"
#include "decode/gather.h"
#include "decode/graph_nodes.h"
#include "decode/layout.h"
#include "decode/nccl_events.h"
#include "decode/pc_samples.h"
#include "decode/range_metrics.h"
#include "decode/rows.h"
#include "decode/stacks.h"
#include "etl/stacks.h"

/* Bytes that are fetched ahead of the record in hand, and lines at a time.  The slot was
 * written by another core and is cold here: its lines are asked for while columns are
 * gathered, so that neither waits for the other. */
#define AHEAD 32768
#define LINES 8

static void prefetch(struct etl_process *process, const uint8_t *record)
{
	const uint8_t *end = process->fetch_end;

	if (process->fetched < record)
		process->fetched = record;
	if (end - record > AHEAD)
		end = record + AHEAD;
	for (int line = 0; line < LINES && process->fetched < end; line++) {
		__builtin_prefetch(process->fetched, 0, 2);
		process->fetched += 64;
	}
}

/* Records until the table's next multiple of BLOCK rows, so that blocks fill whole lines. */
static unsigned block_room(const struct etl_process *process, int table)
{
	return BLOCK - (unsigned)process->decoder->builders[table].rows % BLOCK;
}

/* Ends that lie before their start, as where the clock is set back, become the start: how many. */
static unsigned mend_ends(int64_t *ends, const int64_t *starts, uint64_t known)
{
	uint64_t early = 0;

	for (unsigned i = 0; i < BLOCK; i++)
		early |= (uint64_t)(ends[i] < starts[i]) << i;
	early &= known;
	for (uint64_t rest = early; rest; rest &= rest - 1)
		ends[__builtin_ctzll(rest)] = starts[__builtin_ctzll(rest)];
	return count_bits(early);
}

/* Gathers the records of a table that wait; `next` is the record behind the last one. */
static int decode_block(struct etl_process *process, int table, const uint8_t *next)
{
	struct builder *builder = &process->decoder->builders[table];
	const struct etl_kind *kind = builder->kind;
	const struct step *step = process->steps[table];
	uint32_t *at = process->waiting[table];
	unsigned n = process->n_waiting[table];
	const uint64_t all = n < BLOCK ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
	/* The column in hand and the one before it. */
	_Alignas(64) int64_t both[2][BLOCK];
	uint64_t other_clock = 0, valid = 0;

	process->n_waiting[table] = 0;
	if (n == 0)
		return 0;
	if (builder_reserve(builder, n) < 0)
		return -ENOMEM;
	for (unsigned i = n; i < BLOCK; i++)
		at[i] = at[n - 1];
	for (uint32_t c = 0; c < kind->n_columns; c++, step++) {
		const struct etl_column *column = &kind->columns[c];
		struct column_builder *out = &builder->columns[c];
		struct dictionary *dictionary = &builder->dictionaries[c];
		struct gather g = { process,	   table, dictionary, column,
				    process->slot, at,	  n,		    step->offset,
				    step->only_at, step->is_kernel_name };
		/* Where a column has no meaning, no value is missing. */
		uint64_t here = step->is_absent ? 0 : all, before = valid;
		int64_t *values = both[c % 2];

		prefetch(process, next);
		if (step->is_text && dictionary_begin(dictionary, process->serial) < 0)
			return -ENOMEM;
		if (step->only_at != ETL_ANYWHERE)
			here &= applicable(&g);
		process->other_clock = 0;
		valid = step->gather(&g, values) & here;
		other_clock |= process->other_clock & here;
		process->nulls[table][c] += count_bits(here & ~valid & ~process->other_clock);
		if (step->is_end)
			process->early_ends[table] += mend_ends(values, both[!(c % 2)], valid & before);
		column_append(out, step->each, builder->rows, values, valid, n);
	}
	builder->rows += n;
	process->stored[table] += n;
	process->other_clock_rows[table] += count_bits(other_clock);
	return process->lacks_memory ? -ENOMEM : 0;
}

/* Whether a kernel is not the program's.  One of that name may be, where nothing is measured. */
static bool is_own_kernel(struct etl_process *process, const uint8_t *record)
{
	uint64_t name;

	memcpy(&name, record + process->kernel_name_at, sizeof name);
	if (name != process->own_kernel ||
	    !(process->decoded.range_rows || etl_peek(&process->header->counters.range_launches)))
		return false;
	process->decoded.filtered++;
	return true;
}

/* Whether a call is one that was not asked for. */
static bool is_dropped(struct etl_process *process, uint32_t activity, const uint8_t *record)
{
	uint32_t cbid;

	memcpy(&cbid, record + process->cbid_at, sizeof cbid);
	if (cbid == ETL_PROBE_CBID)
		return true;
	if (cbid >= ETL_MAX_CBID || !process->api_drop[api_domain(activity)][cbid])
		return false;
	process->decoded.filtered++;
	return true;
}

static int decode_records(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	struct route route = { 0 };
	uint64_t records = 0, last = UINT64_MAX; /* the last record's kind: of 32 bits, so none */
	uint32_t at = 0;
	int result = 0;

	process->slot = process->fetched = data;
	process->fetch_end = data + bytes;
	while (at + sizeof(uint32_t) <= bytes) {
		const uint8_t *record = data + at;
		uint32_t activity = activity_of(record);
		unsigned *n_waiting;

		/* Most are of the kind of the one before, and to find the next record then
		 * waits for no memory. */
		if (activity != last) {
			if (activity >= ETL_MAX_KIND || process->routes[activity].stride == 0)
				break;
			route = process->routes[activity];
			last = activity;
		}
		if (route.stride > bytes - at)
			break;
		at += route.stride;
		if (route.is_api && is_dropped(process, activity, record))
			continue;
		if (route.is_kernel && is_own_kernel(process, record))
			continue;
		records++;
		if (route.table < 0) {
			process->unknown[activity]++;
			continue;
		}
		n_waiting = &process->n_waiting[route.table];
		process->waiting[route.table][(*n_waiting)++] = at - route.stride;
		if (*n_waiting == block_room(process, route.table)) {
			result = decode_block(process, route.table, data + at);
			if (result < 0)
				return result;
		}
	}
	process->decoded.records += records;
	process->decoded.unreadable_bytes += bytes - at;
	for (int table = 0; table < ETL_N_KINDS; table++) {
		result = decode_block(process, table, data + bytes);
		if (result < 0)
			return result;
	}
	return 0;
}

static int add_string(struct etl_process *process, const struct etl_string_entry *entry,
		      const uint8_t *bytes)
{
	uint32_t activity = entry->tag >> 16, cbid = entry->tag & 0xffff;
	bool is_api = etl_is_api(activity) && cbid < ETL_MAX_CBID;
	struct text_table *texts = is_api ? &process->api_texts : &process->texts;
	uint32_t text = text_add(texts, (const char *)bytes, entry->length);

	if (text == NO_TEXT && !texts->is_full)
		return -ENOMEM;
	if (text == NO_TEXT) {
		process->decoded.cut_strings++;
	} else if (is_api) {
		process->api_text[api_domain(activity)][cbid] = text + 1;
		process->api_drop[api_domain(activity)][cbid] = (entry->flags & ETL_API_DROP) != 0;
	}
	return 0;
}

static int decode_strings(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = 0;

	while (bytes - at >= sizeof(struct etl_string_entry)) {
		struct etl_string_entry entry;
		uint32_t left;

		memcpy(&entry, data + at, sizeof entry);
		at += (uint32_t)sizeof entry;
		left = bytes - at;
		if (entry.length > left || entry.id != etl_hash(data + at, entry.length)) {
			process->decoded.damaged_strings++;
			break;
		}
		if (entry.flags & (ETL_PYTHON_CODE | ETL_PYTHON_STACK)) {
			if (add_stack_entry(process, &entry, data + at) < 0)
				return -ENOMEM;
		} else if (entry.flags & ETL_STRINGS_FORGET)
			text_free(&process->texts);
		else if (add_string(process, &entry, data + at) < 0)
			return -ENOMEM;
		at += entry.length + 7 > left ? left : (uint32_t)(entry.length + 7) & ~7u;
	}
	return 0;
}

/* What comes before this is no time of CLOCK_REALTIME.  Other clocks count from when the machine
 * was started, which is decades later than the epoch; ten years are for one that is set back. */
static int64_t earliest(int64_t start_ns)
{
	const int64_t ten_years = INT64_C(10) * 365 * 86400 * 1000000000;

	return start_ns > ten_years ? start_ns - ten_years : INT64_MIN;
}

static int (*const decoders[])(struct etl_process *, const uint8_t *, uint32_t) = {
	[ETL_RECORDS] = decode_records,
	[ETL_STRINGS] = decode_strings,
	[ETL_LAUNCH_STACKS] = decode_launch_stacks,
	[ETL_CALLBACKS] = decode_callbacks,
	[ETL_RANGES] = decode_ranges,
	[ETL_FACTS] = decode_facts,
	[ETL_GRAPH_NODES] = decode_graph_nodes,
	[ETL_PC_SAMPLES] = decode_pc_samples,
	[ETL_RANGE_METRICS] = decode_range_metrics,
	[ETL_NCCL_EVENTS] = decode_nccl_events,
};

int etl_process_decode(struct etl_process *process, const uint8_t *data, uint32_t bytes,
		       uint32_t content, struct etl_error *error)
{
	const struct etl_decoded before = process->decoded;
	int result = 0;

	process_refresh(process);
	process->earliest_ns = earliest(process->header->start_ns);
	process->decoded.slots++;
	process->lacks_memory = false;
	if (content < sizeof decoders / sizeof *decoders && decoders[content])
		result = decoders[content](process, data, bytes);
	else
		process->decoded.unreadable_bytes += bytes;
	if (result < 0) {
		/* What waits lies in the slot, which is not ours for longer than this call. */
		memset(process->n_waiting, 0, sizeof process->n_waiting);
		etl_fail(error, -result, "no memory for decoding a slot");
	}
	/* A collector that comes after us leaves these out of its sums. */
	etl_add(&process->header->drained,
		process->decoded.records + process->decoded.filtered - before.records -
			before.filtered);
#define ADD(name) etl_add(&process->header->name##_drained, process->decoded.name - before.name);
	ETL_EACH_DRAINED(ADD)
	etl_put(&process->header->drained_ns, (uint64_t)etl_now_ns());
	return result;
}

#include <errno.h>
#include <string.h>

#include "etl/clock.h"
#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/pc_context.h"
#include "inject/pc_params.h"
#include "inject/pc_rows.h"

#define MOST_REASONS 256
/* PCs that one collection holds; what is more comes with the next. */
#define MOST_PCS 16384
/* After the last one, none follows (on an H200, a kernel of 16,000 instructions had more left). */
#define MOST_PCS_LEFT 65536

struct etl_pc_asked etl_pc_asked;

#define CONTEXT_PARAMS(sampled)                                                                    \
	&(struct pc_context)PM_PARAMS(pc_context, context, .context = (sampled)->context)

/* The first reason stays, as what comes later follows from it. */
void etl_pc_fail(int64_t code)
{
	_Atomic int64_t *failure = &etl_injector.map.segment->counters.pc_failure;

	if (!etl_peek(failure))
		etl_put(failure, code);
}

static struct pc_data *new_data(size_t n_reasons, size_t room)
{
	const size_t records = room * sizeof(struct pc_record);
	const size_t stalls = room * n_reasons * sizeof(struct pc_stall);
	uint8_t *memory = etl_new_memory(sizeof(struct pc_data) + records + stalls);
	struct pc_data *data = (struct pc_data *)memory;
	struct pc_stall *stall;

	if (!memory)
		return NULL;
	data->size = sizeof *data;
	data->room = room;
	data->records = (struct pc_record *)(memory + sizeof *data);
	stall = (struct pc_stall *)(memory + sizeof *data + records);
	for (size_t i = 0; i < room; i++) {
		data->records[i].size = sizeof(struct pc_record);
		data->records[i].stalls = stall + i * n_reasons;
	}
	return data;
}

/* CUPTI counts each sample by its reason, and once more by a second one if its scheduler issued
 * nothing then. */
static void pair_reasons(struct etl_pc_context *sampled)
{
	static const char ending[] = "_not_issued";

	memset(sampled->not_issued_of, 0, sizeof sampled->not_issued_of);
	for (unsigned i = 0; i < MOST_REASONS; i++) {
		const char *name = sampled->reasons[i];
		size_t length = strlen(name);

		if (length < sizeof ending || strcmp(name + length - (sizeof ending - 1), ending) != 0)
			continue;
		length -= sizeof ending - 1;
		for (unsigned j = 0; j < MOST_REASONS; j++)
			if (strncmp(sampled->reasons[j], name, length) == 0 &&
			    !sampled->reasons[j][length])
				sampled->not_issued_of[i] = (uint16_t)(j + 1);
	}
}

/* CUPTI's names of the reasons on this device. */
static int64_t read_reasons(struct etl_pc_context *sampled)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	uint32_t indices[MOST_REASONS] = { 0 };
	char *names[MOST_REASONS];
	size_t n = 0;
	struct pc_count_reasons count = PM_PARAMS(pc_count_reasons, count,
		.context = sampled->context, .count = &n);
	struct pc_reasons reasons = PM_PARAMS(pc_reasons, names,
		.context = sampled->context, .indices = indices, .names = names);
	int result = cupti->pc_count_reasons(&count);

	if (result != CUPTI_OK)
		return result;
	if (n == 0 || n > MOST_REASONS)
		return -EOVERFLOW;
	/* They come in an order of their own, and are put where their indices say. */
	if (!sampled->reasons)
		sampled->reasons = etl_new_memory(2 * MOST_REASONS * sizeof *sampled->reasons);
	if (!sampled->reasons)
		return -ENOMEM;
	memset(sampled->reasons, 0, 2 * MOST_REASONS * sizeof *sampled->reasons);
	for (size_t i = 0; i < n; i++)
		names[i] = sampled->reasons[MOST_REASONS + i];
	reasons.count = n;
	result = cupti->pc_reasons(&reasons);
	if (result != CUPTI_OK)
		return result;
	for (size_t i = 0; i < n; i++)
		if (indices[i] < MOST_REASONS)
			memcpy(sampled->reasons[indices[i]], names[i], PC_REASON_NAME_BYTES - 1);
	pair_reasons(sampled);
	/* What was made for another device has room for other reasons. */
	if (n > sampled->n_reasons)
		sampled->data = sampled->left = NULL;
	sampled->n_reasons = n;
	return 0;
}

/* Memory is kept for the next context. */
static bool have_memory(struct etl_pc_context *sampled)
{
	if (!sampled->data)
		sampled->data = new_data(sampled->n_reasons, MOST_PCS);
	if (!sampled->left)
		sampled->left = new_data(sampled->n_reasons, MOST_PCS_LEFT);
	if (!sampled->rows)
		sampled->rows = etl_new_memory(sizeof *sampled->rows);
	return sampled->data && sampled->left && sampled->rows;
}

static int64_t configure(struct etl_pc_context *sampled)
{
	struct pc_attribute attributes[4];
	struct pc_configuration all = PM_PARAMS(pc_configuration, attributes,
		.context = sampled->context, .attributes = attributes);

	memset(attributes, 0, sizeof attributes);
	attributes[all.count].type = PC_MODE;
	attributes[all.count++].value.number = etl_pc_asked.is_serialized ? PC_SERIALIZED : PC_CONTINUOUS;
	attributes[all.count].type = PC_DATA_BUFFER;
	attributes[all.count++].value.buffer = sampled->left;
	if (etl_pc_asked.period) {
		attributes[all.count].type = PC_PERIOD;
		attributes[all.count++].value.number = etl_pc_asked.period;
	}
	if (etl_pc_asked.cycle_ns) {
		attributes[all.count].type = PC_START_STOP;
		attributes[all.count++].value.number = 1;
	}
	return etl_injector.cupti.pc_configure(&all);
}

/* What CUPTI takes in hand is given back if the rest fails. */
int64_t etl_pc_context_begin(struct etl_pc_context *sampled)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int64_t code = cupti->pc_enable(CONTEXT_PARAMS(sampled));
	uint32_t device;

	if (code != CUPTI_OK)
		return code;
	code = read_reasons(sampled);
	if (code == 0)
		code = have_memory(sampled) ? configure(sampled) : -ENOMEM;
	if (code != 0) {
		(void)cupti->pc_disable(CONTEXT_PARAMS(sampled));
		return code;
	}
	if (!cupti->get_context_id || cupti->get_context_id(sampled->context, &sampled->id) != CUPTI_OK)
		sampled->id = 0;
	sampled->device = -1;
	if (cupti->get_device_id && cupti->get_device_id(sampled->context, &device) == CUPTI_OK)
		sampled->device = (int32_t)device;
	sampled->since_ns = sampled->until_ns = etl_now_ns();
	sampled->is_running = !etl_pc_asked.cycle_ns;
	sampled->left->count = 0;
	sampled->left->samples = sampled->left->dropped = sampled->left->not_user = 0;
	sampled->left->is_full = 0;
	sampled->left->remaining = 0;
	sampled->owed = 0;
	return 0;
}

/* ---- samples */

/* A row for each reason; the samples in them. */
static uint64_t store_record(struct etl_pc_context *sampled, const struct pc_record *record,
			     struct etl_pc_sample sample)
{
	uint32_t counts[MOST_REASONS] = { 0 }, not_issued[MOST_REASONS] = { 0 };
	uint64_t stored = 0;

	for (size_t i = 0; i < record->stall_count && i < sampled->n_reasons; i++) {
		uint32_t reason = record->stalls[i].reason;

		if (reason >= MOST_REASONS)
			continue;
		if (sampled->not_issued_of[reason])
			not_issued[sampled->not_issued_of[reason] - 1] += record->stalls[i].samples;
		else
			counts[reason] += record->stalls[i].samples;
	}
	for (uint32_t reason = 0; reason < MOST_REASONS; reason++) {
		if (!counts[reason] && !not_issued[reason])
			continue;
		sample.samples = counts[reason];
		sample.not_issued = not_issued[reason];
		stored += counts[reason];
		etl_pc_rows_add(sampled->rows, sample, record->function, sampled->reasons[reason]);
	}
	return stored;
}

/* CUPTI tells of samples that come with the next collection, if they do not fit this one.  They count
 * where they come; what is left behind the last one is lost. */
static void sum_up(struct etl_pc_context *sampled, struct etl_pc_window *window,
		   const struct pc_data *data)
{
	const int64_t told = sampled->owed + (int64_t)data->samples;
	const int64_t given = (int64_t)(window->stored + data->dropped + data->not_user);
	const bool is_more = data->remaining > 0, is_last = data == sampled->left;

	window->dropped = data->dropped;
	window->not_user = data->not_user;
	window->samples = (uint64_t)(is_more && !is_last ? given : told);
	sampled->owed = told - (int64_t)window->samples;
	if (is_more && is_last && told > given) {
		window->lost = (uint64_t)(told - given);
		etl_add(&etl_injector.map.segment->counters.pc_dropped, window->lost);
	}
}

static void store(struct etl_pc_context *sampled, struct pc_data *data, bool is_full, int64_t end_ns)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	struct etl_pc_rows *rows = sampled->rows;
	struct etl_pc_window window = { .start_ns = sampled->since_ns,
					.end_ns = end_ns,
					.context_id = sampled->id,
					.device_id = sampled->device,
					.is_serialized = etl_pc_asked.is_serialized,
					.period_cycles = etl_pc_asked.period ? UINT64_C(1) << etl_pc_asked.period : 0,
					.is_full = is_full };

	for (size_t i = 0; !is_full && i < data->count && i < data->room; i++) {
		const struct pc_record *record = &data->records[i];
		struct etl_pc_sample sample = { .start_ns = window.start_ns,
						.end_ns = end_ns,
						.cubin_crc = record->cubin_crc,
						.pc_offset = record->pc_offset,
						.context_id = sampled->id,
						.device_id = sampled->device,
						.correlation_id = record->correlation_id };

		window.stored += store_record(sampled, record, sample);
	}
	etl_pc_rows_write(rows);
	if (!is_full)
		sum_up(sampled, &window, data);
	else
		sampled->owed = 0;
	window.lost += rows->lost;
	window.stored -= rows->lost;
	rows->lost = 0;
	etl_add(&counters->pc_dropped, window.dropped);
	etl_add(&counters->pc_full, is_full);
	if (is_full || window.samples || window.stored || window.lost)
		etl_pc_rows_window(window);
}

/* With the context in hand. */
void etl_pc_context_collect(struct etl_pc_context *sampled)
{
	struct pc_get_data get = PM_PARAMS(pc_get_data, data,
		.context = sampled->context, .data = sampled->data);
	int64_t end_ns = 0;
	int result;

	/* CUPTI says how much is left; a bound, as it may be wrong. */
	for (int round = 0; round < 64; round++) {
		bool is_full;

		sampled->data->count = sampled->data->remaining = 0;
		sampled->data->samples = sampled->data->dropped = sampled->data->not_user = 0;
		sampled->data->is_full = 0;
		result = etl_injector.cupti.pc_get_data(&get);
		is_full = result == CUPTI_OUT_OF_MEMORY || sampled->data->is_full;
		if (result != CUPTI_OK && !is_full) {
			etl_pc_fail(result);
			return;
		}
		end_ns = sampled->is_running ? etl_now_ns() : sampled->until_ns;
		store(sampled, sampled->data, is_full, end_ns);
		if (is_full || !sampled->data->remaining)
			break;
	}
	if (sampled->is_running)
		sampled->since_ns = end_ns;
}

void etl_pc_context_switch(struct etl_pc_context *sampled, bool on)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int result;

	if (!etl_pc_asked.cycle_ns || sampled->is_running == on)
		return;
	result = (on ? cupti->pc_start : cupti->pc_stop)(CONTEXT_PARAMS(sampled));
	if (result != CUPTI_OK)
		etl_pc_fail(result);
	else
		sampled->is_running = on;
	*(on ? &sampled->since_ns : &sampled->until_ns) = etl_now_ns();
}

/* With the context in hand, for the last time. */
void etl_pc_context_end(struct etl_pc_context *sampled)
{
	etl_pc_context_collect(sampled);
	if (etl_injector.cupti.pc_disable(CONTEXT_PARAMS(sampled)) == CUPTI_OK)
		store(sampled, sampled->left, sampled->left->is_full, etl_now_ns());
	sampled->is_running = false;
}

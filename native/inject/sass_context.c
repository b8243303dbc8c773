#include <errno.h>
#include <string.h>

#include "etl/clock.h"
#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/pc_rows.h"
#include "inject/sass_context.h"
#include "inject/sass_params.h"

#define MOST_DEVICES 64u
/* Of records that CUPTI tells of; what is more is no number that it can mean. */
#define MOST_RECORDS ((size_t)8 << 20)

struct etl_sass_asked etl_sass_asked;

/* Contexts of each GPU that count: the configuration is the GPU's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t users[MOST_DEVICES];

void etl_sass_fail(int64_t code)
{
	_Atomic int64_t *failure = &etl_injector.map.segment->counters.sass_failure;

	if (!etl_peek(failure))
		etl_put(failure, code);
}

/* What CUPTI calls the metrics on this chip. */
static int64_t read_ids(struct etl_sass_context *counted)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_no_params none = { .struct_size = sizeof none };
	struct pm_chip_name chip = PM_PARAMS(pm_chip_name, chip, .device = counted->device);
	int result = cupti->profiler_initialize(&none);

	if (result == CUPTI_OK)
		result = cupti->chip_name(&chip);
	if (result != CUPTI_OK)
		return result;
	for (uint32_t i = 0; i < etl_sass_asked.count; i++) {
		struct sass_properties ask = PM_PARAMS(sass_properties, metric, .chip = chip.chip,
			.name = etl_sass_asked.metrics[i]);

		result = cupti->sass_properties(&ask);
		if (result == CUPTI_INVALID_PARAMETER)
			return -ENOENT;
		if (result != CUPTI_OK)
			return result;
		counted->ids[i] = ask.metric.id;
	}
	return 0;
}

static bool is_first_of_device(uint32_t device, int by)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = by > 0 ? users[device]++ == 0 : --users[device] == 0;
	pthread_mutex_unlock(&lock);
	return is;
}

static void unset_config(uint32_t device)
{
	struct sass_unset_config ask = PM_PARAMS(sass_unset_config, device, .device = device);

	if (is_first_of_device(device, -1))
		(void)etl_injector.cupti.sass_unset_config(&ask);
}

static int64_t set_config(const struct etl_sass_context *counted)
{
	struct sass_config configs[ETL_MOST_SASS_METRICS];
	struct sass_set_config ask = PM_PARAMS(sass_set_config, device, .count = etl_sass_asked.count,
		.configs = configs, .device = counted->device);
	int result;

	memset(configs, 0, sizeof configs);
	for (uint32_t i = 0; i < etl_sass_asked.count; i++) {
		configs[i].id = counted->ids[i];
		configs[i].granularity = SASS_BY_GPU;
	}
	if (!is_first_of_device(counted->device, 1))
		return 0;
	result = etl_injector.cupti.sass_set_config(&ask);
	if (result != CUPTI_OK)
		(void)is_first_of_device(counted->device, -1);
	return result;
}

int64_t etl_sass_context_begin(struct etl_sass_context *counted)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct sass_enable ask = PM_PARAMS(sass_enable, is_lazy, .context = counted->context,
		.is_lazy = 1);
	int64_t code;

	counted->device = counted->id = 0;
	if (cupti->get_device_id)
		(void)cupti->get_device_id(counted->context, &counted->device);
	if (cupti->get_context_id)
		(void)cupti->get_context_id(counted->context, &counted->id);
	if (counted->device >= MOST_DEVICES)
		return -ENOSPC;
	if (!counted->rows)
		counted->rows = etl_new_memory(sizeof *counted->rows);
	if (!counted->rows)
		return -ENOMEM;
	code = read_ids(counted);
	if (code == 0)
		code = set_config(counted);
	if (code != 0)
		return code;
	counted->since_ns = etl_now_ns();
	code = cupti->sass_enable(&ask);
	if (code != CUPTI_OK)
		unset_config(counted->device);
	return code;
}

/* ---- counts */

static const char *name_of(const struct etl_sass_context *counted, uint64_t id)
{
	for (uint32_t i = 0; i < etl_sass_asked.count; i++)
		if (counted->ids[i] == id)
			return etl_sass_asked.metrics[i];
	return NULL;
}

static void store(struct etl_sass_context *counted, const struct sass_record *record, size_t values,
		  int64_t end_ns)
{
	for (size_t i = 0; i < values; i++) {
		const char *metric = name_of(counted, record->values[i].id);
		const struct etl_sass_count count = { .start_ns = counted->since_ns,
						      .end_ns = end_ns,
						      .cubin_crc = record->cubin_crc,
						      .pc_offset = record->pc_offset,
						      .value = record->values[i].value,
						      .context_id = counted->id,
						      .device_id = (int32_t)counted->device };

		if (metric && count.value)
			etl_pc_rows_count(counted->rows, count, record->function, metric);
	}
}

static bool is_chosen(const char *function)
{
	return !etl_sass_asked.has_filter ||
	       (function && regexec(&etl_sass_asked.filter, function, 0, NULL, 0) == 0);
}

static int64_t take(struct etl_sass_context *counted, size_t records, size_t values)
{
	const size_t bytes = records * (sizeof(struct sass_record) + values * sizeof(struct sass_value));
	uint8_t *memory = etl_new_memory(bytes);
	struct sass_record *data = (struct sass_record *)memory;
	struct sass_value *place = (struct sass_value *)(data + records);
	struct sass_flush ask = PM_PARAMS(sass_flush, instances, .context = counted->context,
		.records = records, .instances = values / etl_sass_asked.count, .data = data);
	int64_t end_ns;
	int result;

	if (!memory)
		return -ENOMEM;
	for (size_t i = 0; i < records; i++) {
		data[i].struct_size = ask.struct_size; /* as CUPTI documents it */
		data[i].values = place + i * values;
	}
	result = etl_injector.cupti.sass_flush(&ask);
	end_ns = etl_now_ns();
	for (size_t i = 0; result == CUPTI_OK && i < records; i++)
		if (is_chosen(data[i].function))
			store(counted, &data[i], values, end_ns);
	etl_pc_rows_write(counted->rows);
	etl_free_memory(memory, bytes);
	counted->since_ns = end_ns;
	return result;
}

static void collect(struct etl_sass_context *counted)
{
	struct sass_data_properties ask = PM_PARAMS(sass_data_properties, instances,
		.context = counted->context);
	int64_t code = etl_injector.cupti.sass_data_properties(&ask);

	if (code == 0 && (ask.records > MOST_RECORDS || ask.instances > 4096))
		code = -EOVERFLOW;
	/* There was a launch, or counting would not have begun. */
	if (code == 0 && (!ask.records || !ask.instances))
		code = -ENODATA;
	if (code == 0)
		code = take(counted, ask.records, ask.instances * etl_sass_asked.count);
	if (code != 0)
		etl_sass_fail(code);
}

void etl_sass_context_end(struct etl_sass_context *counted)
{
	struct sass_disable ask = PM_PARAMS(sass_disable, dropped, .context = counted->context);
	int result;

	collect(counted);
	result = etl_injector.cupti.sass_disable(&ask);
	if (result != CUPTI_OK)
		etl_sass_fail(result);
	else
		etl_add(&etl_injector.map.segment->counters.sass_dropped, ask.dropped);
	unset_config(counted->device);
}

void etl_sass_context_leave(const struct etl_sass_context *counted)
{
	(void)is_first_of_device(counted->device, -1);
}

void etl_sass_contexts_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	memset(users, 0, sizeof users);
}

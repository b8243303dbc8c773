#include <errno.h>
#include <math.h>
#include <string.h>

#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/range_host.h"
#include "inject/range_params.h"

#define PARAMS(type, last, ...) { .struct_size = PM_SIZE(type, last), __VA_ARGS__ }
enum { METRIC_COUNTER = 0 };
/* Of any image; what is more is no size that CUPTI can mean. */
#define MOST_IMAGE_BYTES ((size_t)64 << 20)

static int new_host(const char *chip, const uint8_t *availability, void **host)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_host_initialize ask = PARAMS(pm_host_initialize, object,
		.profiler_type = RANGE_PROFILER_TYPE, .chip = chip, .availability = availability);
	int result;

	if (cupti->version >= PM_API_SINGLE_PASS)
		ask.struct_size = PM_SIZE(pm_host_initialize, single_pass_set);
	result = cupti->host_initialize(&ask);
	*host = result == CUPTI_OK ? ask.object : NULL;
	return result;
}

static void drop_host(void *host)
{
	struct pm_host_deinitialize ask = PARAMS(pm_host_deinitialize, object, .object = host);

	(void)etl_injector.cupti.host_deinitialize(&ask);
}

/* The configuration of metrics and its passes.  With no `image`, only the passes. */
static int64_t configure(void *host, const char *const *names, size_t n, uint8_t **image,
			 size_t *bytes, uint32_t *passes)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_add_metrics add = PARAMS(pm_add_metrics, count, .object = host, .metrics = names,
		.count = n);
	struct pm_config_size size = PARAMS(pm_config_size, size, .object = host);
	struct pm_config_image get = PARAMS(pm_config_image, image, .object = host);
	struct pm_number_of_passes count = PARAMS(pm_number_of_passes, passes);
	int result = cupti->host_add_metrics(&add);

	if (result == CUPTI_OK)
		result = cupti->host_config_size(&size);
	if (result != CUPTI_OK)
		return result;
	if (size.size == 0 || size.size > MOST_IMAGE_BYTES)
		return -EOVERFLOW;
	get.size = count.size = size.size;
	get.image = etl_new_memory(size.size);
	if (!get.image)
		return -ENOMEM;
	count.image = get.image;
	result = cupti->host_config_image(&get);
	if (result == CUPTI_OK)
		result = cupti->host_passes(&count);
	*passes = count.passes < UINT32_MAX ? (uint32_t)count.passes : UINT32_MAX;
	if (image && result == CUPTI_OK) {
		*image = get.image;
		*bytes = size.size;
	} else {
		etl_free_memory(get.image, size.size);
	}
	return result;
}

/* ---- what CUPTI says of a metric */

static void unit_of(char *unit, const char *name, const char *dimension)
{
	const char *what = dimension && *dimension ? dimension : "";

	if (strstr(name, ".pct") || strstr(name, "_pct"))
		snprintf(unit, ETL_MOST_RANGE_UNIT, "%%");
	else if (strstr(name, ".per_second"))
		snprintf(unit, ETL_MOST_RANGE_UNIT, "%.40s/s", what);
	else if (strstr(name, ".per_cycle"))
		snprintf(unit, ETL_MOST_RANGE_UNIT, "%.40s/cycle", what);
	else if (!strstr(name, ".ratio") && !strstr(name, ".max_rate"))
		snprintf(unit, ETL_MOST_RANGE_UNIT, "%.40s", what);
}

/* Whether a name is that of one counter as it is, such as dram__bytes_read.sum. */
static bool is_plain(const char *name)
{
	const char *rollup = strchr(name, '.');

	return rollup && !strchr(rollup + 1, '.');
}

static void describe(struct etl_range_config *config, uint32_t i, const char *chip,
		     const uint8_t *availability)
{
	struct etl_range_metric *metric = &config->metrics[i];
	struct pm_properties ask = PARAMS(pm_properties, metric_type, .metric = metric->name);
	uint32_t alone = 0;
	void *host;

	/* On an object of its own: one that refuses something is of no use from then on. */
	if (new_host(chip, availability, &host) != CUPTI_OK)
		return;
	ask.object = host;
	if (etl_injector.cupti.version >= PM_API_SCOPE)
		ask.struct_size = PM_SIZE(pm_properties, collection_scope);
	if (etl_injector.cupti.host_properties(&ask) != CUPTI_OK) {
		ask.metric_type = -1;
		ask.dimension = NULL;
	}
	unit_of(metric->unit, metric->name, ask.dimension);
	if (configure(host, &config->names[i], 1, NULL, NULL, &alone) != CUPTI_OK)
		alone = 0;
	drop_host(host);
	if (config->passes == 1 ||
	    (alone == 1 && ask.metric_type == METRIC_COUNTER && is_plain(metric->name)))
		metric->parts = ETL_RANGE_PARTS_TOGETHER;
	else if (alone > 1)
		metric->parts = ETL_RANGE_PARTS_APART;
}

/* ---- */

static int64_t read_list(struct etl_range_config *config, const char *list)
{
	config->count = 0;
	while (*list) {
		const size_t length = strcspn(list, ",");
		char *name = config->metrics[config->count].name;

		if (config->count == ETL_MOST_RANGE_METRICS || length >= ETL_MOST_RANGE_METRIC)
			return -E2BIG;
		memcpy(name, list, length);
		name[length] = 0;
		config->names[config->count++] = name;
		list += length + (list[length] == ',');
	}
	return 0;
}

/* What can be counted now; CUPTI is asked twice, for the size and for the image. */
static int64_t read_availability(void *context, uint8_t **image, size_t *bytes)
{
	struct range_availability ask = PARAMS(range_availability, image, .context = context);
	int result = etl_injector.cupti.profiler_availability(&ask);

	if (result != CUPTI_OK)
		return result;
	if (ask.size == 0 || ask.size > MOST_IMAGE_BYTES)
		return -EOVERFLOW;
	*bytes = ask.size;
	*image = ask.image = etl_new_memory(ask.size);
	return *image ? etl_injector.cupti.profiler_availability(&ask) : -ENOMEM;
}

int64_t etl_range_config_make(struct etl_range_config *config, void *context, uint32_t device,
			      const char *list)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_no_params none = { .struct_size = sizeof none };
	struct pm_chip_name chip = PARAMS(pm_chip_name, chip, .device = device);
	uint8_t *availability = NULL;
	size_t bytes = 0;
	int64_t code = cupti->profiler_initialize(&none);

	memset(config, 0, sizeof *config);
	if (code == 0)
		code = read_list(config, list);
	if (code == 0)
		code = cupti->chip_name(&chip);
	if (code == 0 && context)
		code = read_availability(context, &availability, &bytes);
	if (code == 0)
		code = new_host(chip.chip, availability, &config->host);
	if (code == 0)
		code = configure(config->host, config->names, config->count, &config->image,
				 &config->image_bytes, &config->passes);
	for (uint32_t i = 0; code == 0 && i < config->count; i++)
		describe(config, i, chip.chip, availability);
	etl_free_memory(availability, bytes);
	if (code != 0)
		etl_range_config_free(config);
	return code;
}

void etl_range_config_free(struct etl_range_config *config)
{
	if (config->host)
		drop_host(config->host);
	etl_free_memory(config->image, config->image_bytes);
	config->host = config->image = NULL;
}

void etl_range_config_evaluate(const struct etl_range_config *config, const uint8_t *image,
			       size_t bytes, double *values, int32_t *results)
{
	struct pm_evaluate ask = PARAMS(pm_evaluate, values, .object = config->host,
		.counter_data = image, .counter_data_size = bytes, .metrics = config->names,
		.count = config->count, .values = values);
	int result = etl_injector.cupti.host_evaluate(&ask);

	for (uint32_t i = 0; i < config->count; i++)
		results[i] = result != CUPTI_OK ? result : isfinite(values[i]) ? 0 : -EDOM;
}

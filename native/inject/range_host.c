#include <errno.h>
#include <math.h>
#include <string.h>

#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/range_host.h"
#include "inject/range_params.h"

enum { METRIC_COUNTER = 0 };
enum { CUPTI_INVALID_METRIC_NAME = 17 };
/* Of any image; what is more is no size that CUPTI can mean. */
#define MOST_IMAGE_BYTES ((size_t)64 << 20)

static int new_host(const char *chip, const uint8_t *availability, void **host)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_host_initialize ask = PM_PARAMS(pm_host_initialize, object,
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
	struct pm_object ask = PM_PARAMS(pm_object, object, .object = host);

	(void)etl_injector.cupti.host_deinitialize(&ask);
}

/* The configuration of metrics and its passes.  With no `image`, only the passes. */
static int64_t configure(void *host, const char *const *names, size_t n, uint8_t **image,
			 size_t *bytes, uint32_t *passes)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_add_metrics add = PM_PARAMS(pm_add_metrics, count, .object = host, .metrics = names,
		.count = n);
	struct pm_config_size size = PM_PARAMS(pm_config_size, size, .object = host);
	struct pm_config_image get = PM_PARAMS(pm_config_image, image, .object = host);
	struct pm_number_of_passes count = PM_PARAMS(pm_number_of_passes, passes);
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
	struct pm_properties ask = PM_PARAMS(pm_properties, metric_type, .metric = metric->name);
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

/* One of `list`'s, which is a name, or several with bars between them: the first that the chip has
 * is taken.  A bar behind the last says that it may have none. */
struct entry {
	const char *text;
	size_t length;
};

static int64_t read_list(const char *list, struct entry *entries, uint32_t *n)
{
	for (*n = 0; *list; (*n)++) {
		const size_t length = strcspn(list, ",");

		if (*n == ETL_MOST_RANGE_METRICS)
			return -E2BIG;
		entries[*n] = (struct entry){ list, length };
		list += length + (list[length] == ',');
	}
	return 0;
}

/* The first name in a text; 0, or -E2BIG. */
static int64_t copy_name(char *to, const struct entry *from)
{
	const char *bar = memchr(from->text, '|', from->length);
	const size_t length = bar ? (size_t)(bar - from->text) : from->length;

	if (length >= ETL_MOST_RANGE_METRIC)
		return -E2BIG;
	memcpy(to, from->text, length);
	to[length] = 0;
	return 0;
}

static bool is_known(const char *name, const char *chip, const uint8_t *availability)
{
	uint32_t passes;
	void *host;
	int64_t code;

	if (new_host(chip, availability, &host) != CUPTI_OK)
		return false;
	code = configure(host, &name, 1, NULL, NULL, &passes);
	drop_host(host);
	return code == 0;
}

/* The name that the chip has; false if it has none, and does not need to. */
static int64_t choose(struct entry entry, const char *chip, const uint8_t *availability, char *name,
		      bool *is_chosen)
{
	const struct entry whole = entry;
	const char *bar;
	int64_t code = 0;

	*is_chosen = true;
	while (code == 0 && (bar = memchr(entry.text, '|', entry.length))) {
		code = copy_name(name, &entry);
		if (code == 0 && is_known(name, chip, availability))
			return 0;
		entry.length -= (size_t)(bar + 1 - entry.text);
		entry.text = bar + 1;
	}
	*is_chosen = entry.length > 0;
	return code ? code : copy_name(name, *is_chosen ? &entry : &whole);
}

/* The metrics that the chip has, and behind them those that it lacks. */
static int64_t choose_all(struct etl_range_config *config, const char *list, const char *chip,
			  const uint8_t *availability)
{
	struct entry entries[ETL_MOST_RANGE_METRICS], lacking[ETL_MOST_RANGE_METRICS];
	uint32_t n, left_out = 0;
	int64_t code = read_list(list, entries, &n);

	for (uint32_t i = 0; code == 0 && i < n; i++) {
		char *name = config->metrics[config->count].name;
		bool is_chosen;

		code = choose(entries[i], chip, availability, name, &is_chosen);
		if (is_chosen)
			config->names[config->count++] = name;
		else
			lacking[left_out++] = entries[i];
	}
	config->all = config->count;
	for (uint32_t i = 0; code == 0 && i < left_out; i++) {
		config->metrics[config->all].result = CUPTI_INVALID_METRIC_NAME;
		code = copy_name(config->metrics[config->all++].name, &lacking[i]);
	}
	return code == 0 && config->count == 0 ? CUPTI_INVALID_METRIC_NAME : code;
}

/* What can be counted now; CUPTI is asked twice, for the size and for the image. */
static int64_t read_availability(void *context, uint8_t **image, size_t *bytes)
{
	struct range_availability ask = PM_PARAMS(range_availability, image, .context = context);
	int result = etl_injector.cupti.profiler_availability(&ask);

	if (result != CUPTI_OK)
		return result;
	if (ask.size == 0 || ask.size > MOST_IMAGE_BYTES)
		return -EOVERFLOW;
	*bytes = ask.size;
	*image = ask.image = etl_new_memory(ask.size);
	return *image ? etl_injector.cupti.profiler_availability(&ask) : -ENOMEM;
}

/* What a host object is made of; the image is to be freed. */
static int64_t read_chip(void *context, uint32_t device, struct pm_chip_name *chip, uint8_t **image,
			 size_t *bytes)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_no_params none = { .struct_size = sizeof none };
	int64_t code = cupti->profiler_initialize(&none);

	*chip = (struct pm_chip_name)PM_PARAMS(pm_chip_name, chip, .device = device);
	if (code == 0)
		code = cupti->chip_name(chip);
	if (code == 0 && context)
		code = read_availability(context, image, bytes);
	return code;
}

int64_t etl_range_config_passes(void *context, uint32_t device, const char *const *names, uint32_t n,
				uint32_t *passes)
{
	struct pm_chip_name chip;
	uint8_t *availability = NULL;
	size_t bytes = 0;
	void *host = NULL;
	int64_t code = read_chip(context, device, &chip, &availability, &bytes);

	if (code == 0)
		code = new_host(chip.chip, availability, &host);
	if (code == 0)
		code = configure(host, names, n, NULL, NULL, passes);
	if (host)
		drop_host(host);
	etl_free_memory(availability, bytes);
	return code;
}

int64_t etl_range_config_make(struct etl_range_config *config, void *context, uint32_t device,
			      const char *list)
{
	struct pm_chip_name chip;
	uint8_t *availability = NULL;
	size_t bytes = 0;
	int64_t code = read_chip(context, device, &chip, &availability, &bytes);

	memset(config, 0, sizeof *config);
	if (code == 0)
		code = choose_all(config, list, chip.chip, availability);
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

void etl_range_config_lack(struct etl_range_config *config, const struct etl_range_metric *metric)
{
	if (config->all < ETL_MOST_RANGE_METRICS)
		config->metrics[config->all++] = *metric;
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
	struct pm_evaluate ask = PM_PARAMS(pm_evaluate, values, .object = config->host,
		.counter_data = image, .counter_data_size = bytes, .metrics = config->names,
		.count = config->count, .values = values);
	int result = etl_injector.cupti.host_evaluate(&ask);

	for (uint32_t i = 0; i < config->count; i++)
		results[i] = result != CUPTI_OK ? result : isfinite(values[i]) ? 0 : -EDOM;
	for (uint32_t i = config->count; i < config->all; i++)
		results[i] = config->metrics[i].result;
}

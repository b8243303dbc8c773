/* CUPTI's profiler host: what a chip can count, the configuration that counts it, and the
 * values of counters that were read.  Needs no GPU for the chips that it knows.
 *
 * One refused metric spoils CUPTI's host object: every later call of it answers 999.  So an
 * object that refused something is replaced before its next use, and a configuration begins
 * on an object without metrics; callers see one `pm_host` that goes on working.  A host is
 * used by one thread at a time. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "etl/abi.h"
#include "pm/pm_api.h"

struct pm_host {
	const struct pm_api *api;
	char *chip;
	char *single_pass_set; /* or NULL */
	uint8_t *availability; /* or NULL */
	int profiler_type;
	void *object; /* CUPTI's */
	bool is_spoilt; /* it refused something */
	bool has_metrics; /* a configuration was made with it */
};

static int make_object(const struct pm_host *host, void **object, struct etl_error *error)
{
	struct pm_host_initialize ask = PM_PARAMS(pm_host_initialize, object,
		.profiler_type = host->profiler_type, .chip = host->chip,
		.availability = host->availability);
	int result;

	if (host->api->version >= PM_API_SINGLE_PASS) {
		ask.struct_size = PM_SIZE(pm_host_initialize, single_pass_set);
		ask.single_pass_set = host->single_pass_set;
	}
	result = host->api->host_initialize(&ask);
	*object = result ? NULL : ask.object;
	return result ? pm_fail(host->api, result, "cuptiProfilerHostInitialize", error) : 0;
}

static void drop_object(const struct pm_host *host, void *object)
{
	struct pm_object ask = PM_PARAMS(pm_object, object, .object = object);

	if (object)
		host->api->host_deinitialize(&ask);
}

/* The object for the next call, a new one where the last is of no use.  One with metrics is
 * of use for all but another configuration: values are asked of the object that configured. */
static int refresh(struct pm_host *host, struct etl_error *error)
{
	if (host->object && !host->is_spoilt)
		return 0;
	drop_object(host, host->object);
	host->is_spoilt = host->has_metrics = false;
	return make_object(host, &host->object, error);
}

static int refused(struct pm_host *host, int result, const char *call, struct etl_error *error)
{
	host->is_spoilt = true;
	return pm_fail(host->api, result, call, error);
}

int etl_host_new(const struct pm_api *api, const char *chip, int profiler_type,
		 const struct etl_bytes *availability, const char *single_pass_set,
		 struct pm_host **out, struct etl_error *error)
{
	struct pm_host *host;
	int result;

	*out = NULL;
	if (single_pass_set && api->version < PM_API_SINGLE_PASS)
		return etl_fail(error, ENOTSUP,
				"%s knows no single-pass sets (API version %u; CUDA 13.2 or "
				"later is needed)", api->path, api->version);
	host = calloc(1, sizeof *host);
	if (!host)
		return etl_fail(error, ENOMEM, "no memory for a profiler host");
	host->api = api;
	host->profiler_type = profiler_type;
	host->chip = strdup(chip);
	host->single_pass_set = single_pass_set ? strdup(single_pass_set) : NULL;
	host->availability = availability ? malloc(availability->size) : NULL;
	if (!host->chip || (single_pass_set && !host->single_pass_set) ||
	    (availability && !host->availability)) {
		etl_host_free(host);
		return etl_fail(error, ENOMEM, "no memory for a profiler host");
	}
	if (availability)
		memcpy(host->availability, availability->data, availability->size);
	result = refresh(host, error);
	if (result) {
		etl_host_free(host);
		return result;
	}
	*out = host;
	return 0;
}

void etl_host_free(struct pm_host *host)
{
	if (!host)
		return;
	drop_object(host, host->object);
	free(host->availability);
	free(host->single_pass_set);
	free(host->chip);
	free(host);
}

/* Says which metric was refused: each is asked for alone, on an object of its own. */
static int name_refused(const struct pm_host *host, const char *const *metrics, size_t n,
			int result, struct etl_error *error)
{
	static const char call[] = "cuptiProfilerHostConfigAddMetrics";
	char what[256];

	for (size_t i = 0; i < n; i++) {
		struct pm_add_metrics ask = PM_PARAMS(pm_add_metrics, count,
			.metrics = &metrics[i], .count = 1);
		int alone;

		if (make_object(host, &ask.object, error))
			break;
		alone = host->api->add_metrics(&ask);
		drop_object(host, ask.object);
		if (alone) {
			snprintf(what, sizeof what, "%s refuses %s on %s", call, metrics[i],
				 host->chip);
			return pm_fail(host->api, alone, what, error);
		}
	}
	return pm_fail(host->api, result, call, error);
}

int etl_host_config(struct pm_host *host, const char *const *metrics, uint64_t n,
		    struct etl_bytes *out, uint32_t *passes, struct etl_error *error)
{
	const struct pm_api *api = host->api;
	struct pm_add_metrics add = PM_PARAMS(pm_add_metrics, count, .metrics = metrics,
		.count = n);
	struct pm_config_size size = PM_PARAMS(pm_config_size, size);
	struct pm_config_image get = PM_PARAMS(pm_config_image, image);
	int result;

	*out = (struct etl_bytes){ 0 };
	*passes = 0;
	if (n == 0)
		return etl_fail(error, EINVAL, "no metric was named");
	host->is_spoilt |= host->has_metrics; /* what was added stays */
	result = refresh(host, error);
	if (result)
		return result;
	host->has_metrics = true;
	add.object = size.object = get.object = host->object;
	result = api->add_metrics(&add);
	if (result) {
		host->is_spoilt = true;
		return name_refused(host, metrics, n, result, error);
	}
	result = api->config_size(&size);
	if (result)
		return refused(host, result, "cuptiProfilerHostGetConfigImageSize", error);
	get.size = size.size;
	get.image = calloc(1, size.size ? size.size : 1);
	if (!get.image)
		return etl_fail(error, ENOMEM, "no memory for a configuration");
	result = api->config_image(&get);
	if (result)
		result = refused(host, result, "cuptiProfilerHostGetConfigImage", error);
	else
		result = etl_cupti_passes(api, get.image, get.size, passes, error);
	if (result) {
		free(get.image);
		return result;
	}
	*out = (struct etl_bytes){ get.image, get.size };
	return 0;
}

int etl_host_evaluate(struct pm_host *host, const uint8_t *image, uint64_t bytes, uint64_t first,
		      uint64_t count, const char *const *metrics, uint64_t n,
		      double *const *columns, struct etl_error *error)
{
	struct pm_evaluate ask = PM_PARAMS(pm_evaluate, values, .counter_data = image,
		.counter_data_size = bytes, .metrics = metrics, .count = n);
	int result = refresh(host, error);

	if (result)
		return result;
	ask.object = host->object;
	ask.values = calloc(n ? n : 1, sizeof *ask.values);
	if (!ask.values)
		return etl_fail(error, ENOMEM, "no memory for %zu values", n);
	for (size_t i = 0; i < count && result == 0; i++) {
		ask.range = first + i;
		result = host->api->evaluate(&ask);
		for (size_t m = 0; m < n && result == 0; m++)
			columns[m][i] = ask.values[m];
	}
	free(ask.values);
	return result ? refused(host, result, "cuptiProfilerHostEvaluateToGpuValues", error) : 0;
}

int etl_host_base_metrics(struct pm_host *host, int metric_type,
			  struct etl_names *out, struct etl_error *error)
{
	struct pm_base_metrics ask = PM_PARAMS(pm_base_metrics, count,
		.metric_type = metric_type);
	int result = refresh(host, error);

	*out = (struct etl_names){ 0 };
	if (result)
		return result;
	ask.object = host->object;
	result = host->api->base_metrics(&ask);
	if (result)
		return refused(host, result, "cuptiProfilerHostGetBaseMetrics", error);
	*out = (struct etl_names){ ask.metrics, ask.count, NULL };
	return 0;
}

int etl_host_sub_metrics(struct pm_host *host, int metric_type, const char *metric,
			  struct etl_names *out, struct etl_error *error)
{
	struct pm_sub_metrics ask = PM_PARAMS(pm_sub_metrics, sub_metrics,
		.metric_type = metric_type, .metric = metric);
	int result = refresh(host, error);

	*out = (struct etl_names){ 0 };
	if (result)
		return result;
	ask.object = host->object;
	result = host->api->sub_metrics(&ask);
	if (result)
		return refused(host, result, "cuptiProfilerHostGetSubMetrics", error);
	*out = (struct etl_names){ ask.sub_metrics, ask.count, NULL };
	return 0;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

int etl_host_describe(struct pm_host *host, const char *metric, struct etl_metric_text *out,
		      struct etl_error *error)
{
	struct pm_properties ask = PM_PARAMS(pm_properties, metric_type, .metric = metric,
		.collection_scope = PM_SCOPE_UNKNOWN);
	int result = refresh(host, error);

	if (result)
		return result;
	if (host->api->version >= PM_API_SCOPE)
		ask.struct_size = PM_SIZE(pm_properties, collection_scope);
	ask.object = host->object;
	result = host->api->properties(&ask);
	if (result)
		return refused(host, result, "cuptiProfilerHostGetMetricProperties", error);
	*out = (struct etl_metric_text){ or_empty(ask.description), or_empty(ask.hardware_unit),
					 or_empty(ask.dimension), ask.metric_type,
					 ask.collection_scope };
	return 0;
}

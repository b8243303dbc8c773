/* The profiler host for Python: the functions of host.h with types that cffi has. */
#include <errno.h>
#include <stdlib.h>

#include "etl/abi.h"
#include "pm/chips.h"
#include "pm/cost.h"
#include "pm/select.h"

/* ETL_MESSAGE_BYTES of the caller are what etl_error is. */
#define ERROR(message) ((struct etl_error *)(void *)(message))

int etl_cupti_open(const char *places, struct pm_api **out, char *message)
{
	struct pm_api *api = calloc(1, sizeof *api);
	int result;

	*out = NULL;
	if (!api)
		return etl_fail(ERROR(message), ENOMEM, "no memory for the functions of libcupti");
	result = pm_api_load(api, places, ERROR(message));
	if (result) {
		free(api);
		return result;
	}
	*out = api;
	return 0;
}

uint32_t etl_cupti_version(const struct pm_api *api)
{
	return api->version;
}

const char *etl_cupti_path(const struct pm_api *api)
{
	return api->path;
}

/* `is_ours`: whether the list is to be freed, and not CUPTI's. */
static int give_names(int result, const char *const *names, size_t count, int is_ours,
		      struct etl_names *out)
{
	out->names = result ? NULL : names;
	out->count = result ? 0 : count;
	out->memory = result || !is_ours ? NULL : (void *)(uintptr_t)names;
	return result;
}

int etl_cupti_chips(const struct pm_api *api, struct etl_names *out, char *message)
{
	const char *const *names = NULL;
	size_t count = 0;
	int result = pm_chips(api, &names, &count, ERROR(message));

	return give_names(result, names, count, 0, out);
}

int etl_cupti_sets(const struct pm_api *api, const char *chip, struct etl_names *out,
		   char *message)
{
	const char *const *names = NULL;
	size_t count = 0;
	int result = pm_single_pass_sets(api, chip, &names, &count, ERROR(message));

	return give_names(result, names, count, 1, out);
}

int etl_cupti_set_metrics(const struct pm_api *api, const char *chip, const char *set,
			  struct etl_names *out, char *message)
{
	const char *const *names = NULL;
	size_t count = 0;
	int result = pm_set_metrics(api, chip, set, &names, &count, ERROR(message));

	return give_names(result, names, count, 1, out);
}

int etl_cupti_passes(const struct pm_api *api, const uint8_t *config, uint64_t bytes,
		     uint32_t *passes, char *message)
{
	return pm_number_of_passes(api, config, bytes, passes, ERROR(message));
}

int etl_cupti_most_per_pass(const struct pm_api *api, int profiler_type, const char *chip,
			    const uint8_t *availability, uint64_t *count, char *message)
{
	return pm_max_per_pass(api, profiler_type, chip, availability, count, ERROR(message));
}

int etl_cupti_device_chip(const struct pm_api *api, uint64_t device, char *chip, uint64_t size,
			  char *message)
{
	return pm_device_chip(api, device, chip, size, ERROR(message));
}

int etl_cupti_availability(const struct pm_api *api, uint64_t device, struct etl_bytes *out,
			   char *message)
{
	return pm_device_availability(api, device, &out->data, &out->size, ERROR(message));
}

int etl_cupti_sample_bytes(const struct pm_api *api, uint64_t device, int is_by_cycles,
			   const struct etl_bytes *config, const char *const *metrics,
			   uint64_t count, double *bytes, char *message)
{
	return pm_sample_bytes(api, device, is_by_cycles ? PM_TRIGGER_CYCLES : PM_TRIGGER_TIME,
			       config->data, config->size, metrics, count, bytes, ERROR(message));
}

int etl_cupti_samples(const struct pm_api *api, const uint8_t *image, uint64_t bytes,
		      uint64_t *samples, char *message)
{
	struct pm_counter_data_info ask = PM_PARAMS(pm_counter_data_info, completed,
		.image = image, .size = bytes);
	int result = api->counter_data_info(&ask);

	*samples = result ? 0 : ask.completed;
	return result ? pm_fail(api, result, "cuptiPmSamplingGetCounterDataInfo", ERROR(message))
		      : 0;
}

void etl_names_free(struct etl_names *names)
{
	free(names->memory);
	*names = (struct etl_names){ 0 };
}

void etl_bytes_free(struct etl_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct etl_bytes){ 0 };
}

int etl_host_new(const struct pm_api *api, const char *chip, int profiler_type,
		 const struct etl_bytes *availability, const char *single_pass_set,
		 struct pm_host **out, char *message)
{
	return pm_host_new(api, chip, profiler_type, availability ? availability->data : NULL,
			   availability ? availability->size : 0, single_pass_set, out,
			   ERROR(message));
}

void etl_host_free(struct pm_host *host)
{
	pm_host_free(host);
}

int etl_host_config(struct pm_host *host, const char *const *metrics, uint64_t count,
		    struct etl_bytes *out, uint32_t *passes, char *message)
{
	return pm_host_config(host, metrics, count, &out->data, &out->size, passes,
			      ERROR(message));
}

int etl_host_select(struct pm_host *host, const char *const *metrics, const uint8_t *is_optional,
		    uint64_t count, uint8_t *is_kept, char *message)
{
	bool *flags = calloc(count ? 2 * count : 1, sizeof *flags);
	int result;

	if (!flags)
		return etl_fail(ERROR(message), ENOMEM, "no memory for so many metrics");
	for (uint64_t i = 0; i < count; i++)
		flags[i] = is_optional[i] != 0;
	result = pm_host_select(host, metrics, flags, count, flags + count, ERROR(message));
	for (uint64_t i = 0; i < count; i++)
		is_kept[i] = result == 0 && flags[count + i];
	free(flags);
	return result;
}

int etl_host_evaluate(struct pm_host *host, const uint8_t *image, uint64_t bytes, uint64_t first,
		      uint64_t samples, const char *const *metrics, uint64_t count,
		      double *const *columns, char *message)
{
	return pm_host_evaluate_range(host, image, bytes, first, samples, metrics, count, columns,
				      ERROR(message));
}

int etl_host_base_metrics(struct pm_host *host, int metric_type, struct etl_names *out,
			  char *message)
{
	const char *const *names = NULL;
	size_t count = 0;
	int result = pm_host_base_metrics(host, metric_type, &names, &count,
					  ERROR(message));

	return give_names(result, names, count, 0, out);
}

int etl_host_sub_metrics(struct pm_host *host, int metric_type, const char *metric,
			 struct etl_names *out, char *message)
{
	const char *const *names = NULL;
	size_t count = 0;
	int result = pm_host_sub_metrics(host, metric_type, metric, &names, &count,
					 ERROR(message));

	return give_names(result, names, count, 0, out);
}

int etl_host_describe(struct pm_host *host, const char *metric, struct etl_metric_text *out,
		      char *message)
{
	struct pm_description text = { "", "", "", 0, PM_SCOPE_UNKNOWN };
	int result = pm_host_properties(host, metric, &text, ERROR(message));

	*out = (struct etl_metric_text){ text.description, text.hardware_unit, text.dimension,
					 text.metric_type, text.collection_scope };
	return result;
}

/* What CUPTI says of chips and configurations without a host object. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etl/abi.h"
#include "pm/pm_api.h"

int etl_cupti_passes(const struct pm_api *api, const uint8_t *config, uint64_t bytes,
		     uint32_t *passes, struct etl_error *error)
{
	struct pm_number_of_passes ask = PM_PARAMS(pm_number_of_passes, passes, .image = config,
		.size = bytes);
	int result = api->number_of_passes(&ask);

	*passes = result ? 0 : (uint32_t)ask.passes;
	return result ? pm_fail(api, result, "cuptiProfilerHostGetNumOfPasses", error) : 0;
}

int etl_cupti_most_per_pass(const struct pm_api *api, int profiler_type, const char *chip,
			    const uint8_t *availability, uint64_t *count, struct etl_error *error)
{
	struct pm_max_per_pass ask = PM_PARAMS(pm_max_per_pass, count,
		.profiler_type = profiler_type, .chip = chip, .availability = availability);
	int result = api->max_per_pass(&ask);

	*count = result ? 0 : ask.count;
	return result ? pm_fail(api, result, "cuptiProfilerHostGetMaxNumHardwareMetricsPerPass",
				error) : 0;
}

int etl_cupti_chips(const struct pm_api *api, struct etl_names *out, struct etl_error *error)
{
	struct pm_supported_chips ask = PM_PARAMS(pm_supported_chips, chips);
	int result = api->supported_chips(&ask);

	*out = (struct etl_names){ 0 };
	if (result)
		return pm_fail(api, result, "cuptiProfilerHostGetSupportedChips", error);
	*out = (struct etl_names){ ask.chips, ask.count, NULL };
	return 0;
}

static int too_old(const struct pm_api *api, struct etl_error *error)
{
	return etl_fail(error, ENOTSUP,
			"%s knows no single-pass sets (API version %u; CUDA 13.2 or later is "
			"needed)", api->path, api->version);
}

int etl_cupti_sets(const struct pm_api *api, const char *chip, struct etl_names *out,
		   struct etl_error *error)
{
	static const char call[] = "cuptiProfilerHostGetSinglePassSets";
	struct pm_single_pass_sets ask = PM_PARAMS(pm_single_pass_sets, sets, .chip = chip);
	int result;

	*out = (struct etl_names){ 0 };
	if (!api->single_pass_sets)
		return too_old(api, error);
	result = api->single_pass_sets(&ask);
	if (result)
		return pm_fail(api, result, call, error);
	ask.sets = calloc(ask.count + 1, sizeof *ask.sets);
	if (!ask.sets)
		return etl_fail(error, ENOMEM, "no memory for the names of sets");
	/* With none, memory would make it a question for the names again. */
	result = ask.count ? api->single_pass_sets(&ask) : 0;
	if (result) {
		free(ask.sets);
		return pm_fail(api, result, call, error);
	}
	*out = (struct etl_names){ ask.sets, ask.count, ask.sets };
	return 0;
}

int etl_cupti_set_metrics(const struct pm_api *api, const char *chip, const char *set,
			  struct etl_names *out, struct etl_error *error)
{
	static const char call[] = "cuptiProfilerHostGetMetricsInSinglePassSet";
	struct pm_set_metrics ask = PM_PARAMS(pm_set_metrics, buffer, .chip = chip, .set = set);
	size_t count, size;
	const char **list;
	int result;

	*out = (struct etl_names){ 0 };
	if (!api->set_metrics)
		return too_old(api, error);
	result = api->set_metrics(&ask);
	if (result)
		return pm_fail(api, result, call, error);
	count = ask.count;
	size = ask.buffer_size;
	/* One block: the pointers, the indices they are made of, the texts, an end. */
	list = calloc(1, count * (sizeof *list + sizeof *ask.indices) + size + 1);
	if (!list)
		return etl_fail(error, ENOMEM, "no memory for the names of metrics");
	if (count) {
		ask.indices = (size_t *)(void *)(list + count);
		ask.buffer = (uint8_t *)(ask.indices + count);
		result = api->set_metrics(&ask);
	}
	for (size_t i = 0; i < count && result == 0; i++) {
		if (ask.indices[i] >= size) {
			free(list);
			return etl_fail(error, EINVAL, "%s gives a name outside its buffer",
					call);
		}
		list[i] = (const char *)ask.buffer + ask.indices[i];
	}
	if (result) {
		free(list);
		return pm_fail(api, result, call, error);
	}
	*out = (struct etl_names){ list, count, list };
	return 0;
}

int etl_cupti_samples(const struct pm_api *api, const uint8_t *image, uint64_t bytes,
		      uint64_t *samples, struct etl_error *error)
{
	struct pm_counter_data_info ask = PM_PARAMS(pm_counter_data_info, completed,
		.image = image, .size = bytes);
	int result = api->counter_data_info(&ask);

	*samples = result ? 0 : ask.completed;
	return result ? pm_fail(api, result, "cuptiPmSamplingGetCounterDataInfo", error)
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

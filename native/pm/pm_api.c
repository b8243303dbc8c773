
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "etl/abi.h"
#include "etl/libcupti.h"
#include "pm/pm_api.h"

#define REQUIRED(member, symbol) ETL_REQUIRED(pm_api, member, symbol)
#define OPTIONAL(member, symbol) ETL_OPTIONAL(pm_api, member, symbol)
static const struct etl_symbol symbols[] = {
	REQUIRED(get_version, "cuptiGetVersion"),
	REQUIRED(get_result_string, "cuptiGetResultString"),
	REQUIRED(initialize, "cuptiProfilerInitialize"),
	REQUIRED(deinitialize, "cuptiProfilerDeInitialize"),
	REQUIRED(chip_name, "cuptiDeviceGetChipName"),
	REQUIRED(host_initialize, "cuptiProfilerHostInitialize"),
	REQUIRED(host_deinitialize, "cuptiProfilerHostDeinitialize"),
	REQUIRED(supported_chips, "cuptiProfilerHostGetSupportedChips"),
	REQUIRED(base_metrics, "cuptiProfilerHostGetBaseMetrics"),
	REQUIRED(sub_metrics, "cuptiProfilerHostGetSubMetrics"),
	REQUIRED(properties, "cuptiProfilerHostGetMetricProperties"),
	REQUIRED(evaluate, "cuptiProfilerHostEvaluateToGpuValues"),
	REQUIRED(add_metrics, "cuptiProfilerHostConfigAddMetrics"),
	REQUIRED(config_size, "cuptiProfilerHostGetConfigImageSize"),
	REQUIRED(config_image, "cuptiProfilerHostGetConfigImage"),
	REQUIRED(number_of_passes, "cuptiProfilerHostGetNumOfPasses"),
	REQUIRED(max_per_pass, "cuptiProfilerHostGetMaxNumHardwareMetricsPerPass"),
	REQUIRED(availability, "cuptiPmSamplingGetCounterAvailability"),
	REQUIRED(enable, "cuptiPmSamplingEnable"),
	REQUIRED(disable, "cuptiPmSamplingDisable"),
	REQUIRED(start, "cuptiPmSamplingStart"),
	REQUIRED(stop, "cuptiPmSamplingStop"),
	REQUIRED(set_config, "cuptiPmSamplingSetConfig"),
	REQUIRED(counter_data_size, "cuptiPmSamplingGetCounterDataSize"),
	REQUIRED(counter_data_initialize, "cuptiPmSamplingCounterDataImageInitialize"),
	REQUIRED(decode, "cuptiPmSamplingDecodeData"),
	REQUIRED(counter_data_info, "cuptiPmSamplingGetCounterDataInfo"),
	REQUIRED(sample_info, "cuptiPmSamplingCounterDataGetSampleInfo"),
	OPTIONAL(single_pass_sets, "cuptiProfilerHostGetSinglePassSets"),
	OPTIONAL(set_metrics, "cuptiProfilerHostGetMetricsInSinglePassSet"),
};

/* cuptiDeviceGetChipName and PM sampling count devices as the driver does, once it was
 * initialized; the profiler host alone needs none, so that a missing driver is no error. */
static void initialize_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*initialize)(unsigned flags);
	void *address = driver ? dlsym(driver, "cuInit") : NULL;

	if (!address)
		return;
	/* ISO C has no cast from void * to a function pointer; POSIX promises that the
	 * bits are the same. */
	memcpy(&initialize, &address, sizeof initialize);
	initialize(0);
}

static int resolve(struct pm_api *api, struct etl_error *error)
{
	const char *missing;
	struct link_map *map = NULL;
	struct pm_no_params none = PM_PARAMS(pm_no_params, private_data);
	int result;

	if (dlinfo(api->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
		snprintf(api->path, sizeof api->path, "%s", map->l_name);
	missing = etl_resolve(api->handle, symbols, sizeof symbols / sizeof symbols[0], api);
	if (missing)
		return etl_fail(error, ENOENT,
				"%s has no function %s (CUDA 12.6 or later is needed)", api->path,
				missing);
	if (api->get_version(&api->version) != PM_OK)
		return etl_fail(error, ENOENT, "%s does not work with this driver", api->path);
	initialize_driver();
	result = api->initialize(&none);
	return result ? pm_fail(api, result, "cuptiProfilerInitialize", error) : 0;
}

static int try_open(struct pm_api *api, const char *name, struct etl_error *error)
{
	int result;

	memset(api, 0, sizeof *api);
	api->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!api->handle)
		return etl_fail(error, ENOENT, "%s", dlerror());
	result = resolve(api, error);
	if (result) {
		dlclose(api->handle);
		memset(api, 0, sizeof *api);
	}
	return result;
}

int pm_api_load(struct pm_api *api, const char *places, struct etl_error *error)
{
	int result = etl_fail(error, ENOENT, "no libcupti was named");
	char name[512];

	for (const char *path = places; (path = etl_next_path(path, name, sizeof name));) {
		result = try_open(api, name, error);
		if (result == 0)
			return 0;
	}
	for (size_t i = 0; (!places || !*places) && i < ETL_N_CUPTI_SONAMES; i++) {
		result = try_open(api, etl_cupti_sonames[i], error);
		if (result == 0)
			return 0;
	}
	return result;
}

void pm_api_close(struct pm_api *api)
{
	struct pm_no_params none = PM_PARAMS(pm_no_params, private_data);

	if (api->handle)
		api->deinitialize(&none);
	memset(api, 0, sizeof *api);
}

int pm_fail(const struct pm_api *api, int result, const char *call, struct etl_error *error)
{
	const char *text = NULL;

	if (api->get_result_string(result, &text) != PM_OK || !text)
		text = "an error that CUPTI has no words for";
	etl_fail(error, result, "%s: %s (%d)", call, text, result);
	return result;
}

int etl_cupti_device_chip(const struct pm_api *api, uint64_t device, char *chip, uint64_t size,
			  struct etl_error *error)
{
	struct pm_chip_name name = PM_PARAMS(pm_chip_name, chip, .device = device);
	int result = api->chip_name(&name);

	if (result)
		return pm_fail(api, result, "cuptiDeviceGetChipName", error);
	if (!name.chip || strlen(name.chip) >= size)
		return etl_fail(error, EINVAL, "CUPTI gives device %lu no usable name", device);
	memcpy(chip, name.chip, strlen(name.chip) + 1);
	return 0;
}

int etl_cupti_availability(const struct pm_api *api, uint64_t device, struct etl_bytes *out,
			   struct etl_error *error)
{
	static const char call[] = "cuptiPmSamplingGetCounterAvailability";
	struct pm_availability ask = PM_PARAMS(pm_availability, image, .device = device);
	int result = api->availability(&ask);

	*out = (struct etl_bytes){ 0 };
	if (result)
		return pm_fail(api, result, call, error);
	ask.image = calloc(1, ask.size ? ask.size : 1);
	if (!ask.image)
		return etl_fail(error, ENOMEM, "no memory for %zu bytes", ask.size);
	result = api->availability(&ask);
	if (result) {
		free(ask.image);
		return pm_fail(api, result, call, error);
	}
	*out = (struct etl_bytes){ ask.image, ask.size };
	return 0;
}

int etl_cupti_open(const char *places, struct pm_api **out, struct etl_error *error)
{
	struct pm_api *api = calloc(1, sizeof *api);
	int result;

	*out = NULL;
	if (!api)
		return etl_fail(error, ENOMEM, "no memory for the functions of libcupti");
	result = pm_api_load(api, places, error);
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

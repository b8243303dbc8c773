
#include <errno.h>
#include <link.h>
#include <string.h>

#include "etl/libcupti.h"
#include "etl/strings.h"
#include "inject/cupti_api.h"
#include "inject/environment.h"
#include "../generated/env.h"

#define REQUIRED(member, symbol) ETL_REQUIRED(cupti_api, member, symbol)
#define OPTIONAL(member, symbol) ETL_OPTIONAL(cupti_api, member, symbol)
static const struct etl_symbol symbols[] = {
	REQUIRED(get_version, "cuptiGetVersion"),
	REQUIRED(get_result_string, "cuptiGetResultString"),
	REQUIRED(register_callbacks, "cuptiActivityRegisterCallbacks"),
	REQUIRED(enable, "cuptiActivityEnable"),
	REQUIRED(disable, "cuptiActivityDisable"),
	REQUIRED(flush_all, "cuptiActivityFlushAll"),
	REQUIRED(next_record, "cuptiActivityGetNextRecord"),
	REQUIRED(dropped_records, "cuptiActivityGetNumDroppedRecords"),
	OPTIONAL(set_attribute, "cuptiActivitySetAttribute"),
	OPTIONAL(set_thread_id_type, "cuptiSetThreadIdType"),
	OPTIONAL(enable_runtime_api, "cuptiActivityEnableRuntimeApi"),
	OPTIONAL(enable_driver_api, "cuptiActivityEnableDriverApi"),
	OPTIONAL(callback_name, "cuptiGetCallbackName"),
	OPTIONAL(subscribe, "cuptiSubscribe"),
	OPTIONAL(unsubscribe, "cuptiUnsubscribe"),
	OPTIONAL(enable_callback, "cuptiEnableCallback"),
	OPTIONAL(graph_node_id, "cuptiGetGraphNodeId"),
	OPTIONAL(nvtx_initialize2, "cuptiNvtxInitialize2"),
	OPTIONAL(register_timestamp, "cuptiActivityRegisterTimestampCallback"),
	OPTIONAL(get_timestamp, "cuptiGetTimestamp"),
	OPTIONAL(enable_event_timestamps, "cuptiActivityEnableCudaEventDeviceTimestamps"),
	OPTIONAL(enable_all_sync_records, "cuptiActivityEnableAllSyncRecords"),
	OPTIONAL(enable_allocation_source, "cuptiActivityEnableAllocationSource"),
	OPTIONAL(enable_device_graph, "cuptiActivityEnableDeviceGraph"),
	OPTIONAL(configure_unified_memory, "cuptiActivityConfigureUnifiedMemoryCounter"),
	OPTIONAL(get_context_id, "cuptiGetContextId"),
	OPTIONAL(get_stream_id, "cuptiGetStreamIdEx"),
	OPTIONAL(get_device_id, "cuptiGetDeviceId"),
	OPTIONAL(pc_enable, "cuptiPCSamplingEnable"),
	OPTIONAL(pc_disable, "cuptiPCSamplingDisable"),
	OPTIONAL(pc_start, "cuptiPCSamplingStart"),
	OPTIONAL(pc_stop, "cuptiPCSamplingStop"),
	OPTIONAL(pc_configure, "cuptiPCSamplingSetConfigurationAttribute"),
	OPTIONAL(pc_get_data, "cuptiPCSamplingGetData"),
	OPTIONAL(pc_count_reasons, "cuptiPCSamplingGetNumStallReasons"),
	OPTIONAL(pc_reasons, "cuptiPCSamplingGetStallReasons"),
	OPTIONAL(cubin_crc, "cuptiGetCubinCrc"),
	OPTIONAL(profiler_initialize, "cuptiProfilerInitialize"),
	OPTIONAL(profiler_availability, "cuptiProfilerGetCounterAvailability"),
	OPTIONAL(chip_name, "cuptiDeviceGetChipName"),
	OPTIONAL(host_initialize, "cuptiProfilerHostInitialize"),
	OPTIONAL(host_deinitialize, "cuptiProfilerHostDeinitialize"),
	OPTIONAL(host_add_metrics, "cuptiProfilerHostConfigAddMetrics"),
	OPTIONAL(host_config_size, "cuptiProfilerHostGetConfigImageSize"),
	OPTIONAL(host_config_image, "cuptiProfilerHostGetConfigImage"),
	OPTIONAL(host_passes, "cuptiProfilerHostGetNumOfPasses"),
	OPTIONAL(host_properties, "cuptiProfilerHostGetMetricProperties"),
	OPTIONAL(host_evaluate, "cuptiProfilerHostEvaluateToGpuValues"),
	OPTIONAL(sass_properties, "cuptiSassMetricsGetProperties"),
	OPTIONAL(sass_set_config, "cuptiSassMetricsSetConfig"),
	OPTIONAL(sass_unset_config, "cuptiSassMetricsUnsetConfig"),
	OPTIONAL(sass_enable, "cuptiSassMetricsEnable"),
	OPTIONAL(sass_disable, "cuptiSassMetricsDisable"),
	OPTIONAL(sass_data_properties, "cuptiSassMetricsGetDataProperties"),
	OPTIONAL(sass_flush, "cuptiSassMetricsFlushData"),
	OPTIONAL(range_enable, "cuptiRangeProfilerEnable"),
	OPTIONAL(range_disable, "cuptiRangeProfilerDisable"),
	OPTIONAL(range_start, "cuptiRangeProfilerStart"),
	OPTIONAL(range_stop, "cuptiRangeProfilerStop"),
	OPTIONAL(range_push, "cuptiRangeProfilerPushRange"),
	OPTIONAL(range_pop, "cuptiRangeProfilerPopRange"),
	OPTIONAL(range_set_config, "cuptiRangeProfilerSetConfig"),
	OPTIONAL(range_decode, "cuptiRangeProfilerDecodeData"),
	OPTIONAL(range_counter_data_size, "cuptiRangeProfilerGetCounterDataSize"),
	OPTIONAL(range_counter_data_initialize, "cuptiRangeProfilerCounterDataImageInitialize"),
	OPTIONAL(range_counter_data_info, "cuptiRangeProfilerGetCounterDataInfo"),
	OPTIONAL(subscribe_v2, "cuptiSubscribe_v2"),
	OPTIONAL(register_callbacks_v2, "cuptiActivityRegisterCallbacks_v2"),
	OPTIONAL(enable_v2, "cuptiActivityEnable_v2"),
	OPTIONAL(disable_v2, "cuptiActivityDisable_v2"),
	OPTIONAL(set_attribute_v2, "cuptiActivitySetAttribute_v2"),
	OPTIONAL(next_record_v2, "cuptiActivityGetNextRecord_v2"),
	OPTIONAL(dropped_records_v2, "cuptiActivityGetNumDroppedRecords_v2"),
};

static bool resolve(struct cupti_api *api, struct etl_error *error)
{
	const char *missing = etl_resolve(api->handle, symbols, sizeof symbols / sizeof symbols[0], api);
	struct link_map *map = NULL;

	if (missing) {
		etl_fail(error, ENOENT, "libcupti has no function %s", missing);
		return false;
	}
	if (dlinfo(api->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
		snprintf(api->path, sizeof api->path, "%s", map->l_name);
	if (api->get_version(&api->version) != CUPTI_OK) {
		etl_fail(error, ENOENT, "%s does not work with this driver", api->path);
		return false;
	}
	if (api->version < CUPTI_OLDEST) {
		etl_fail(error, ENOENT, "%s is too old (API version %u; CUDA 12.0 or later is needed)",
			 api->path, api->version);
		return false;
	}
	return true;
}

static bool try_open(struct cupti_api *api, const char *name, int flags, struct etl_error *error)
{
	memset(api, 0, sizeof *api);
	api->handle = dlopen(name, flags | RTLD_NOW | RTLD_LOCAL);
	if (!api->handle) {
		if (!(flags & RTLD_NOLOAD))
			etl_fail(error, ENOENT, "%s", dlerror());
		return false;
	}
	if (resolve(api, error))
		return true;
	dlclose(api->handle);
	memset(api, 0, sizeof *api);
	return false;
}

int cupti_api_load(struct cupti_api *api, struct etl_error *error)
{
	const char *path = etl_env(ETL_ENV_CUPTI);
	char name[512];
	struct etl_error last = { "" };

	for (size_t i = 0; i < ETL_N_CUPTI_SONAMES; i++)
		if (try_open(api, etl_cupti_sonames[i], RTLD_NOLOAD, &last)) {
			api->is_the_programs = true;
			return 0;
		}
	if (path) {
		if (try_open(api, path, 0, &last))
			return 0;
		return etl_fail(error, ENOENT, "the CUPTI that was asked for cannot be used: %s",
				last.message);
	}
	path = etl_env(ETL_ENV_CUPTI_SEARCH);
	while ((path = etl_next_path(path, name, sizeof name)))
		if (try_open(api, name, 0, &last))
			return 0;
	for (size_t i = 0; i < ETL_N_CUPTI_SONAMES; i++)
		if (try_open(api, etl_cupti_sonames[i], 0, &last))
			return 0;
	return etl_fail(error, ENOENT, "no usable libcupti was found (last tried: %s)",
			last.message);
}

uint32_t cupti_driver_cbid(const struct cupti_api *api, const char *function)
{
	for (uint32_t cbid = 1; api->callback_name && cbid < ETL_MAX_CBID; cbid++) {
		const char *name = NULL;

		if (api->callback_name(CUPTI_DOMAIN_DRIVER, cbid, &name) == CUPTI_OK && name &&
		    strcmp(name, function) == 0)
			return cbid;
	}
	return 0;
}

int cupti_subscribe(const struct cupti_api *api, cupti_callback_fn callback, void **subscriber)
{
	void *address;

	/* As with dlsym: ISO C has no cast between the two kinds of pointers. */
	memcpy(&address, &callback, sizeof address);
	return api->subscribe(subscriber, address, NULL);
}

int cupti_subscribe_several(const struct cupti_api *api, cupti_callback_fn callback, void **subscriber)
{
	struct cupti_subscriber_params params = { .size = sizeof params, .name = "cupti-etl",
						  .allow_multiple = 1 };
	void *address;

	memcpy(&address, &callback, sizeof address);
	return api->subscribe_v2(subscriber, address, NULL, &params);
}

const char *cupti_result(const struct cupti_api *api, int result)
{
	const char *text = NULL;

	if (api->get_result_string(result, &text) != CUPTI_OK || !text)
		return "unknown CUPTI error";
	return text;
}

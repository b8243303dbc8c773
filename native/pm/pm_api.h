/* The functions of libcupti for PM sampling and the profiler host, found with dlsym.
 *
 * Here and in etl/abi.h, functions that can fail return 0, a negative errno of our own, or
 * CUPTI's result as it is, which is positive: what to do differs by result. */
#pragma once

#include <stdint.h>

#include "etl/error.h"
#include "pm/pm_params.h"

enum {
	PM_OK = 0,
	PM_INVALID_PARAMETER = 1,
	PM_OUT_OF_MEMORY = 8, /* also: the hardware's buffer ran over */
	PM_INVALID_METRIC_NAME = 17,
	PM_HARDWARE_BUSY = 26,
	PM_NOT_SUPPORTED = 27,
	PM_UNKNOWN = 999,
};

enum { PM_TYPE_RANGE = 0, PM_TYPE_PM_SAMPLING = 1 };
enum { PM_METRIC_COUNTER = 0, PM_METRIC_RATIO = 1, PM_METRIC_THROUGHPUT = 2 };
enum { PM_SCOPE_CONTEXT = 0, PM_SCOPE_DEVICE = 1, PM_SCOPE_UNKNOWN = 2 };
enum { PM_TRIGGER_CYCLES = 0, PM_TRIGGER_TIME = 1 };
enum { PM_KEEP_OLDEST = 0, PM_KEEP_LATEST = 1 };
enum { PM_STOP_OTHER = 0, PM_STOP_COUNTER_DATA_FULL = 1, PM_STOP_END_OF_RECORDS = 2 };

struct pm_api {
	void *handle;
	char path[512];
	uint32_t version;
	int (*get_version)(uint32_t *version);
	int (*get_result_string)(int result, const char **text);
	int (*initialize)(struct pm_no_params *);
	int (*deinitialize)(struct pm_no_params *);
	int (*chip_name)(struct pm_chip_name *);
	int (*host_initialize)(struct pm_host_initialize *);
	int (*host_deinitialize)(struct pm_object *);
	int (*supported_chips)(struct pm_supported_chips *);
	int (*base_metrics)(struct pm_base_metrics *);
	int (*sub_metrics)(struct pm_sub_metrics *);
	int (*properties)(struct pm_properties *);
	int (*evaluate)(struct pm_evaluate *);
	int (*add_metrics)(struct pm_add_metrics *);
	int (*config_size)(struct pm_config_size *);
	int (*config_image)(struct pm_config_image *);
	int (*number_of_passes)(struct pm_number_of_passes *);
	int (*max_per_pass)(struct pm_max_per_pass *);
	int (*availability)(struct pm_availability *);
	int (*enable)(struct pm_enable *);
	int (*disable)(struct pm_object *);
	int (*start)(struct pm_object *);
	int (*stop)(struct pm_object *);
	int (*set_config)(struct pm_set_config *);
	int (*counter_data_size)(struct pm_counter_data_size *);
	int (*counter_data_initialize)(struct pm_counter_data_initialize *);
	int (*decode)(struct pm_decode *);
	int (*counter_data_info)(struct pm_counter_data_info *);
	int (*sample_info)(struct pm_sample_info *);
	/* From here on NULL where CUPTI is older than PM_API_SINGLE_PASS. */
	int (*single_pass_sets)(struct pm_single_pass_sets *);
	int (*set_metrics)(struct pm_set_metrics *);
};

/* Fills `api` from the first of `places`, paths with colons between them, that can be used;
 * without places, from the copy that is in the process or that the loader finds.  Then
 * cuInit, if there is a driver, and cuptiProfilerInitialize.  -ENOENT if none can be used:
 * the message says what was tried last. */
ETL_MUST_CHECK int pm_api_load(struct pm_api *api, const char *places, struct etl_error *error);

/* cuptiProfilerDeInitialize; the library stays loaded, as CUPTI does not like to leave. */
void pm_api_close(struct pm_api *api);

/* `result`, after writing CUPTI's words for it, with `call` before them, to `error`. */
int pm_fail(const struct pm_api *api, int result, const char *call, struct etl_error *error);

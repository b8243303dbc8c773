/* The functions of libcupti that the injector calls, found with dlsym.
 *
 * Types and signatures as documented in NVIDIA's CUPTI reference ("CUPTI Activity
 * API", "CUPTI Callback API"); nothing of its headers is used.  A NULL pointer is a
 * function that this version does not have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etl/error.h"

typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				  size_t valid);
typedef void (*cupti_callback_fn)(void *data, uint32_t domain, uint32_t cbid, const void *info);

enum {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_OUT_OF_MEMORY = 8,
	CUPTI_NOT_READY = 13,
	CUPTI_NOT_COMPATIBLE = 14,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_FLUSH_FORCED = 1,
	CUPTI_ATTR_ZEROED_OUT_BUFFER = 5,
	CUPTI_THREAD_ID_SYSTEM = 1,
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3,
	/* First API version that drops records when the client has no buffer; before it
	 * (CUDA 12.9) CUPTI writes through the NULL pointer. */
	CUPTI_NULL_BUFFER_SINCE = 27,
	/* CUDA 12.0; 11.8 and 12.1 answer the same. */
	CUPTI_OLDEST = 18,
};

/* CUpti_ActivityUnifiedMemoryCounterConfig. */
struct cupti_unified_memory {
	uint32_t scope; /* 1: one device of this process */
	uint32_t kind;
	uint32_t device;
	uint32_t enable;
};

/* CUpti_ResourceData. */
struct cupti_resource {
	void *context, *stream;
	const void *descriptor;
};

/* CUpti_SubscriberParams. */
struct cupti_subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
	uint8_t allow_multiple, padding[7];
};

struct cupti_api {
	void *handle;
	char path[512];
	uint32_t version;
	bool is_the_programs; /* it was in the process already */
	int (*get_version)(uint32_t *version);
	int (*get_result_string)(int result, const char **text);
	int (*register_callbacks)(cupti_request_fn request, cupti_complete_fn complete);
	int (*enable)(uint32_t kind);
	int (*disable)(uint32_t kind);
	int (*flush_all)(uint32_t flag);
	int (*next_record)(uint8_t *buffer, size_t valid, uint8_t **record);
	int (*dropped_records)(void *context, uint32_t stream, size_t *dropped);
	/* From here on optional. */
	int (*set_attribute)(uint32_t attribute, size_t *size, void *value);
	int (*set_thread_id_type)(uint32_t type);
	int (*enable_runtime_api)(uint32_t cbid, uint8_t enable);
	int (*enable_driver_api)(uint32_t cbid, uint8_t enable);
	int (*callback_name)(uint32_t domain, uint32_t cbid, const char **name);
	int (*subscribe)(void **subscriber, void *callback, void *data);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
	int (*graph_node_id)(void *node, uint64_t *id);
	int (*nvtx_initialize2)(void *get_export_table);
	int (*register_timestamp)(uint64_t (*clock)(void));
	int (*get_timestamp)(uint64_t *now);
	int (*enable_event_timestamps)(uint8_t enable);
	int (*enable_all_sync_records)(uint8_t enable);
	int (*enable_allocation_source)(uint8_t enable);
	int (*enable_device_graph)(uint8_t enable);
	int (*configure_unified_memory)(struct cupti_unified_memory *config, uint32_t count);
	int (*get_context_id)(void *context, uint32_t *id);
	int (*get_stream_id)(void *context, void *stream, uint8_t per_thread, uint32_t *id);
	int (*get_device_id)(void *context, uint32_t *id);
	/* PC sampling; see pc_params.h for the structs. */
	int (*pc_enable)(void *params);
	int (*pc_disable)(void *params);
	int (*pc_start)(void *params);
	int (*pc_stop)(void *params);
	int (*pc_configure)(void *params);
	int (*pc_get_data)(void *params);
	int (*pc_count_reasons)(void *params);
	int (*pc_reasons)(void *params);
	int (*cubin_crc)(void *params);
	/* SASS metrics; see sass_params.h. */
	int (*sass_properties)(void *params);
	int (*sass_set_config)(void *params);
	int (*sass_unset_config)(void *params);
	int (*sass_enable)(void *params);
	int (*sass_disable)(void *params);
	int (*sass_data_properties)(void *params);
	int (*sass_flush)(void *params);

	/* The profiler host and the range profiler; see etl/profiler_params.h and range_params.h for
	 * the structs. */
	int (*profiler_initialize)(void *params);
	int (*profiler_availability)(void *params);
	int (*chip_name)(void *params);
	int (*host_initialize)(void *params);
	int (*host_deinitialize)(void *params);
	int (*host_add_metrics)(void *params);
	int (*host_config_size)(void *params);
	int (*host_config_image)(void *params);
	int (*host_passes)(void *params);
	int (*host_properties)(void *params);
	int (*host_evaluate)(void *params);
	int (*range_enable)(void *params);
	int (*range_disable)(void *params);
	int (*range_start)(void *params);
	int (*range_stop)(void *params);
	int (*range_push)(void *params);
	int (*range_pop)(void *params);
	int (*range_set_config)(void *params);
	int (*range_decode)(void *params);
	int (*range_counter_data_size)(void *params);
	int (*range_counter_data_initialize)(void *params);
	int (*range_counter_data_info)(void *params);
	/* The second interface; see selected.c for the structs. */
	int (*subscribe_v2)(void **subscriber, void *callback, void *data, void *params);
	int (*register_callbacks_v2)(void *subscriber, void *request, void *complete);
	int (*enable_v2)(void *subscriber, uint32_t kind, void *config);
	int (*disable_v2)(void *subscriber, uint32_t kind, void *config);
	int (*set_attribute_v2)(void *subscriber, uint32_t attribute, size_t *size, void *value);
	int (*next_record_v2)(void *subscriber, uint8_t *buffer, size_t valid, uint8_t **record);
	int (*dropped_records_v2)(void *subscriber, void *context, uint32_t stream,
				  size_t *dropped);
};

/* Chooses the libcupti of this process and fills `api`: the copy already loaded,
 * then the user's, then the search list's, then the loader's.  -ENOENT if none can be
 * used; the message says what was tried. */
ETL_MUST_CHECK int cupti_api_load(struct cupti_api *api, struct etl_error *error);

/* The callback id of a function of the driver's API, by its name; 0 if there is none. */
uint32_t cupti_driver_cbid(const struct cupti_api *api, const char *function);

/* cuptiSubscribe, which must be there. */
int cupti_subscribe(const struct cupti_api *api, cupti_callback_fn callback, void **subscriber);

/* cuptiSubscribe_v2, which must be there, so that others may subscribe, too. */
int cupti_subscribe_several(const struct cupti_api *api, cupti_callback_fn callback,
			    void **subscriber);

/* CUPTI's words for a result. */
const char *cupti_result(const struct cupti_api *api, int result);

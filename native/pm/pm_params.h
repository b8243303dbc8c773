/* What the functions of CUPTI's profiler host and PM sampling take: one struct a call.
 *
 * Members as documented in NVIDIA's CUPTI reference ("CUPTI Profiler Host API", "CUPTI PM
 * Sampling API"); nothing of its headers is used.  Each begins with its size, the number of
 * bytes up to the end of the last member that both sides know, without padding.  Structs grew
 * at their ends: `since` names the first API version with the member. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	PM_API_APPEND_MODE = 26, /* CUDA 12.8 */
	PM_API_SCOPE = 130100,
	PM_API_SINGLE_PASS = 130200,
};

/* The size of `type` up to `last`. */
#define PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

#define PM_HEAD                                                                                    \
	size_t struct_size;                                                                        \
	void *private_data /* CUPTI's; NULL */

struct pm_no_params { /* cuptiProfilerInitialize, cuptiProfilerDeInitialize */
	PM_HEAD;
};

struct pm_chip_name {
	PM_HEAD;
	size_t device;
	const char *chip; /* out */
};

/* The profiler host. */

struct pm_host_initialize {
	PM_HEAD;
	int profiler_type;
	const char *chip;
	const uint8_t *availability;
	void *object; /* out */
	const char *single_pass_set; /* since PM_API_SINGLE_PASS */
};

struct pm_host_deinitialize {
	PM_HEAD;
	void *object;
};

struct pm_supported_chips {
	PM_HEAD;
	size_t count; /* out */
	const char *const *chips; /* out, CUPTI's memory */
};

struct pm_base_metrics {
	PM_HEAD;
	void *object;
	int metric_type;
	const char **metrics; /* out, CUPTI's memory */
	size_t count; /* out */
};

struct pm_sub_metrics {
	PM_HEAD;
	void *object;
	int metric_type;
	const char *metric;
	size_t count; /* out */
	const char **sub_metrics; /* out, CUPTI's memory */
};

struct pm_properties {
	PM_HEAD;
	void *object;
	const char *metric;
	const char *description; /* out, and all that follow */
	const char *hardware_unit;
	const char *dimension;
	int metric_type;
	int collection_scope; /* since PM_API_SCOPE */
};

struct pm_evaluate {
	PM_HEAD;
	void *object;
	const uint8_t *counter_data;
	size_t counter_data_size;
	size_t range;
	const char *const *metrics;
	size_t count;
	double *values; /* filled */
};

struct pm_add_metrics {
	PM_HEAD;
	void *object;
	const char *const *metrics;
	size_t count;
};

struct pm_config_size {
	PM_HEAD;
	void *object;
	size_t size; /* out */
};

struct pm_config_image {
	PM_HEAD;
	void *object;
	size_t size;
	uint8_t *image; /* filled */
};

struct pm_number_of_passes {
	PM_HEAD;
	size_t size;
	const uint8_t *image;
	size_t passes; /* out */
};

struct pm_max_per_pass {
	PM_HEAD;
	int profiler_type;
	const char *chip;
	const uint8_t *availability;
	size_t count; /* out */
};

/* Asked twice: without memory for the number, then with it. */
struct pm_single_pass_sets {
	PM_HEAD;
	const char *chip;
	size_t count; /* in and out */
	const char **sets; /* filled */
};

struct pm_set_metrics {
	PM_HEAD;
	const char *chip;
	const char *set;
	size_t count; /* in and out */
	size_t buffer_size; /* in and out */
	size_t *indices; /* filled: where in the buffer each name begins */
	uint8_t *buffer; /* filled */
};

/* PM sampling. */

struct pm_availability {
	PM_HEAD;
	size_t device;
	size_t size; /* in and out */
	uint8_t *image; /* filled; NULL asks for the size */
};

struct pm_enable {
	PM_HEAD;
	size_t device;
	void *object; /* out */
};

struct pm_object { /* disable, start, stop */
	PM_HEAD;
	void *object;
};

struct pm_set_config {
	PM_HEAD;
	void *object;
	size_t config_size;
	const uint8_t *config;
	size_t hardware_buffer_size;
	uint64_t interval; /* ns, or cycles of the system clock */
	int trigger; /* PM_TRIGGER_* */
	int append_mode; /* PM_KEEP_*; since PM_API_APPEND_MODE */
};

struct pm_counter_data_size {
	PM_HEAD;
	void *object;
	const char *const *metrics;
	size_t count;
	uint32_t max_samples;
	size_t size; /* out */
};

struct pm_counter_data_initialize {
	PM_HEAD;
	void *object;
	size_t size;
	uint8_t *image; /* filled */
};

struct pm_decode {
	PM_HEAD;
	void *object;
	uint8_t *image;
	size_t size;
	int stop_reason; /* out: PM_STOP_* */
	uint8_t overflow; /* out */
};

struct pm_counter_data_info {
	PM_HEAD;
	const uint8_t *image;
	size_t size;
	size_t total; /* out, and all that follow: samples */
	size_t populated;
	size_t completed;
};

struct pm_sample_info {
	PM_HEAD;
	void *object;
	const uint8_t *image;
	size_t size;
	size_t index;
	uint64_t start_ns; /* out; CLOCK_REALTIME */
	uint64_t end_ns; /* out */
};

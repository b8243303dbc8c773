/* What the functions of CUPTI's profiler host take: one struct a call.
 *
 * Members as documented in NVIDIA's CUPTI reference ("CUPTI Profiler Host API"); nothing of its
 * headers is used.  Each begins with its size, the number of bytes up to the end of the last member
 * that both sides know, without padding.  Structs grew at their ends: `since` names the first API
 * version with the member. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	PM_API_SCOPE = 130100,
	PM_API_SINGLE_PASS = 130200,
};

/* The size of `type` up to `last`. */
#define PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

#define PM_HEAD                                                                                    \
	size_t struct_size;                                                                        \
	void *private_data /* CUPTI's; NULL */

/* Size of the whole struct, for those that never grew. */
#define PM_PARAMS(type, last, ...) { .struct_size = PM_SIZE(type, last), __VA_ARGS__ }

struct pm_no_params { /* cuptiProfilerInitialize, cuptiProfilerDeInitialize */
	PM_HEAD;
};

struct pm_object { /* deinitialize, disable, start, stop, pop */
	PM_HEAD;
	void *object;
};

struct pm_chip_name {
	PM_HEAD;
	size_t device;
	const char *chip; /* out */
};

struct pm_counter_data_initialize {
	PM_HEAD;
	void *object;
	size_t size;
	uint8_t *image; /* filled */
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

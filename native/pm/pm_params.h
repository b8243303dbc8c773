/* What the functions of CUPTI's PM sampling take: one struct a call, as in
 * etl/profiler_params.h.
 *
 * Members as documented in NVIDIA's CUPTI reference ("CUPTI PM Sampling API"); nothing of its
 * headers is used. */
#pragma once

#include "etl/profiler_params.h"

enum { PM_API_APPEND_MODE = 26 }; /* CUDA 12.8 */

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

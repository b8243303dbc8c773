/* What the functions of CUPTI's range profiler take: one struct a call, as in
 * etl/profiler_params.h.
 *
 * Members as documented in NVIDIA's CUPTI reference ("CUPTI Range Profiling API"); nothing of its
 * headers is used. */
#pragma once

#include "etl/profiler_params.h"

enum { RANGE_API_CACHE_CONTROL = 130400 };
enum { RANGE_AUTO = 1, RANGE_USER = 2 }; /* a range for each kernel, or those that are pushed */
enum { RANGE_KERNEL_REPLAY = 2, RANGE_USER_REPLAY = 3 };
enum { RANGE_CACHE_NONE = 0, RANGE_CACHE_ALL = 1 };
enum { RANGE_PROFILER_TYPE = 0 };

struct range_availability { /* cuptiProfilerGetCounterAvailability */
	PM_HEAD;
	void *context;
	size_t size; /* in and out */
	uint8_t *image; /* filled; NULL asks for the size */
};

struct range_enable {
	PM_HEAD;
	void *context;
	void *object; /* out */
	int cache_control; /* since RANGE_API_CACHE_CONTROL */
};

struct range_push {
	PM_HEAD;
	void *object;
	const char *name;
};

struct range_counter_data_size {
	PM_HEAD;
	void *object;
	const char *const *metrics;
	size_t count;
	size_t max_ranges;
	uint32_t max_nodes; /* of the tree of ranges: at least max_ranges */
	size_t size; /* out */
};

struct range_set_config {
	PM_HEAD;
	void *object;
	size_t config_size;
	const uint8_t *config;
	size_t size;
	uint8_t *image;
	int range;
	int replay;
	size_t max_ranges;
	uint16_t levels;
	uint16_t min_level;
	size_t pass;
	uint16_t target_level;
};

struct range_stop {
	PM_HEAD;
	void *object;
	size_t pass; /* out, and all that follow */
	size_t target_level;
	uint8_t is_all_submitted;
};

struct range_decode {
	PM_HEAD;
	void *object;
	size_t dropped; /* out */
};

struct range_counter_data_info {
	PM_HEAD;
	const uint8_t *image;
	size_t size;
	size_t ranges; /* out */
};

/* What CUPTI's functions for SASS metrics take: one struct a call, as in etl/profiler_params.h.
 *
 * Members as documented in NVIDIA's CUPTI reference ("CUPTI SASS Metrics API"); nothing of its
 * headers is used. */
#pragma once

#include "etl/profiler_params.h"

enum { SASS_BY_GPU = 0 }; /* one value a GPU, and not one for each multiprocessor */

struct sass_metric {
	uint64_t id;
	const char *name, *description;
};

struct sass_properties {
	PM_HEAD;
	const char *chip, *name;
	struct sass_metric metric; /* out */
};

struct sass_config {
	uint64_t id;
	uint8_t granularity;
};

struct sass_set_config {
	PM_HEAD;
	size_t count;
	struct sass_config *configs;
	uint32_t device;
};

struct sass_unset_config {
	PM_HEAD;
	uint32_t device;
};

struct sass_enable {
	PM_HEAD;
	void *context;
	uint8_t is_lazy;
};

struct sass_disable {
	PM_HEAD;
	void *context;
	size_t dropped; /* out */
};

struct sass_data_properties {
	PM_HEAD;
	void *context;
	size_t records, instances; /* out */
};

struct sass_value {
	uint64_t id, value;
};

struct sass_record {
	PM_HEAD;
	uint32_t cubin_crc, function_index;
	const char *function;
	uint32_t pc_offset;
	struct sass_value *values; /* room for instances of each metric, ours */
};

/* CUPTI's own size of it leaves the last member out. */
struct sass_flush {
	PM_HEAD;
	void *context;
	size_t records, instances;
	struct sass_record *data;
};

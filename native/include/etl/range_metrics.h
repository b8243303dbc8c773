/* Metrics of the range profiler, in band: a slot of content ETL_RANGE_METRICS is a row of
 *
 *	struct etl_range_measured  a launch, or a range of the program, that was measured, with the
 *	                           kernel's name or its own, and
 *	struct etl_range_value     for each metric: a row of launch_metric
 *
 * each a multiple of 8 bytes long, with the texts behind it.
 */
#pragma once

#include <stdint.h>

/* A longer name is cut. */
#define ETL_MOST_RANGE_KERNEL 8192u
#define ETL_MOST_RANGE_METRIC 160u
#define ETL_MOST_RANGE_UNIT 48u
#define ETL_MOST_RANGE_METRICS 128u

/* How well the counters of a metric belong together. */
enum etl_range_parts {
	ETL_RANGE_PARTS_UNKNOWN, /* they may have come from several executions */
	ETL_RANGE_PARTS_TOGETHER, /* from one */
	ETL_RANGE_PARTS_APART, /* from several */
};

struct etl_range_measured {
	uint32_t bytes; /* of it, the kernel's name and all values */
	uint32_t values;
	int64_t start_ns, end_ns; /* of the launch with all its executions, or of the range */
	uint64_t range_id; /* from 1, in the process; those without values have one, too */
	uint64_t launch_hash; /* of the launches in a range, in order */
	uint32_t context_id;
	int32_t device_id; /* below zero: not known */
	uint32_t correlation_id;
	uint32_t passes;
	uint32_t cache_control; /* 0: CUPTI cannot set it, 1: none, 2: flushed before each pass */
	uint32_t name_length;
	uint32_t is_range; /* not a launch */
	uint32_t launches; /* in a range */
};

struct etl_range_value {
	uint32_t bytes;
	uint32_t parts; /* enum etl_range_parts */
	double value; /* if `result` is 0 */
	int32_t result; /* CUPTI's; -EDOM: the value is no number; -ERANGE: it takes several passes */
	uint32_t name_length; /* of the metric's name, which follows, and of its unit behind it */
	uint32_t unit_length;
	uint32_t reserved;
};

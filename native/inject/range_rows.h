/* Rows of the range profiler. */
#pragma once

#include "etl/range_metrics.h"

struct etl_range_metric {
	char name[ETL_MOST_RANGE_METRIC];
	char unit[ETL_MOST_RANGE_UNIT];
	enum etl_range_parts parts;
	int32_t result; /* why it is not counted; 0: it is */
};

/* A launch, the name of its kernel, and as many metrics, values and results as it says. */
void etl_range_rows_add(struct etl_range_measured measured, const char *kernel,
			const struct etl_range_metric *metrics, const double *values,
			const int32_t *results);
/* Publishes what has gathered. */
void etl_range_rows_flush(void);
void etl_range_rows_forget(void);

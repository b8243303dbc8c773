/* What ran in a sample. */
#ifndef ETL_ATTRIBUTION_SAMPLE_H
#define ETL_ATTRIBUTION_SAMPLE_H

#include "attribution/overlap.h"

int overlap_take_sample(struct etl_overlap *join, struct device *device, int64_t at,
			int64_t start, int64_t end) ETL_MUST_CHECK;

#endif

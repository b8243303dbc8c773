/* What ran in a sample. */
#pragma once

#include "attribution/overlap.h"

int overlap_take_sample(struct etl_overlap *join, struct device *device, int64_t at,
			int64_t start, int64_t end) ETL_MUST_CHECK;

/* Where runs wait, and how long each is alone. */
#pragma once

#include "attribution/overlap.h"

int run_begin(struct etl_overlap *join, struct device *device, const struct etl_runs *from,
	      int64_t at) ETL_MUST_CHECK;
/* Counts until `time`: what ends before is timed. */
void clock_advance(struct device *device, int64_t time);
/* Lets go of the runs that have ended by `time` and are timed. */
int runs_retire(struct etl_overlap *join, struct device *device, int64_t time) ETL_MUST_CHECK;

#include "inject/range.h"

#include "inject/inject.h"
#include "../generated/env.h"

static _Atomic int open_ranges;

bool etl_range_is_open(void)
{
	return !etl_env(ETL_ENV_RANGE) || etl_load(&open_ranges) > 0;
}

void etl_range_count(int by)
{
	atomic_fetch_add_explicit(&open_ranges, by, memory_order_acq_rel);
	/* Before CUDA is initialised there is nothing to switch; the start looks here. */
	if (etl_injector_is_ours())
		etl_recording_update(ETL_BY_RANGE);
}

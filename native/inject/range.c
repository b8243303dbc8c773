#include <pthread.h>
#include <string.h>

#include "inject/environment.h"
#include "inject/range.h"
#include "../generated/env.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *range;
static bool is_switched_in_calls;
static _Atomic int open_ranges;

static void read_setting(void)
{
	range = etl_env(ETL_ENV_RANGE);
	if (range)
		range = strdup(range);
	is_switched_in_calls = etl_env(ETL_ENV_ORDERS) != NULL;
}

const char *etl_range(void)
{
	pthread_once(&once, read_setting);
	return range;
}

bool etl_is_switched_in_calls(void)
{
	pthread_once(&once, read_setting);
	return is_switched_in_calls;
}

void etl_range_forget(void)
{
	/* What it was may be looked at by another thread, and stays. */
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

bool etl_range_is_open(void)
{
	return !etl_range() || etl_load(&open_ranges) > 0;
}

int etl_range_open_count(void)
{
	return etl_load(&open_ranges);
}

void etl_range_count(int by)
{
	atomic_fetch_add_explicit(&open_ranges, by, memory_order_acq_rel);
}

/* The time, in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t etl_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t etl_now_ns(void)
{
	return etl_clock_ns(CLOCK_REALTIME);
}

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "etl/error.h"

/* --capture-range cudaProfilerApi: whether it was asked for, what asks CUPTI to tell a
 * subscriber, and what that one does about a call of the driver's.  Without it, nothing. */
bool etl_profiler_is_watched(void);
int etl_profiler_enable(void *subscriber, struct etl_error *error);
bool etl_profiler_means(uint32_t cbid); /* whether it asked for them */
void etl_profiler_call(uint32_t cbid, bool is_return);

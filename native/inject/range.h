/* --capture-range: recording only while a range of the program is open. */
#ifndef ETL_RANGE_H
#define ETL_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "etl/error.h"

/* The setting, or NULL.  Read once: the program may change its environment while its own
 * threads ask. */
const char *etl_range(void);
/* Whether one is open; without the setting, always. */
bool etl_range_is_open(void);
/* One was opened (+1) or closed (-1). */
void etl_range_count(int by);

/* profiler.c, --capture-range cudaProfilerApi: whether it was asked for, what asks CUPTI
 * to tell a subscriber, and what that one does when CUPTI tells.  Without it, nothing. */
bool etl_profiler_is_watched(void);
int etl_profiler_enable(void *subscriber, struct etl_error *error);
void etl_profiler_call(uint32_t domain, uint32_t cbid, const void *info);

/* nvtx.c, --capture-range nvtx:NAME[@DOMAIN]: puts our functions before those that CUPTI
 * puts into NVTX's tables.  Called before and after CUPTI does. */
void etl_nvtx_before(void *get_export_table);
void etl_nvtx_after(void *get_export_table);

#endif

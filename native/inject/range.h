/* --capture-range: recording only while a range of the program is open. */
#ifndef ETL_RANGE_H
#define ETL_RANGE_H

#include <stdbool.h>

#include "etl/error.h"

/* Whether one is open; without the setting, always. */
bool etl_range_is_open(void);
/* One was opened (+1) or closed (-1). */
void etl_range_count(int by);

/* profiler.c, --capture-range cudaProfilerApi: asks CUPTI to tell of the two calls. */
int etl_profiler_watch(struct etl_error *error);

/* nvtx.c, --capture-range nvtx:NAME[@DOMAIN]: puts our functions before those that CUPTI
 * puts into NVTX's tables.  Called before and after CUPTI does. */
void etl_nvtx_before(void *get_export_table);
void etl_nvtx_after(void *get_export_table);

#endif

#pragma once

/* --capture-range nvtx:NAME[@DOMAIN]: puts our functions before those that CUPTI puts into
 * NVTX's tables.  Called before and after CUPTI does. */
void etl_nvtx_before(void *get_export_table);
void etl_nvtx_after(void *get_export_table);

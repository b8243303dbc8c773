#pragma once

#include <stdbool.h>

/* Called by NVTX's start in one copy of it: lets CUPTI put its functions there; whether it did. */
bool etl_nvtx_initialize(void *get_export_table);

/* CUPTI is initialised: what it put into the tables of NVTX may be called. */
void etl_nvtx_release(void);

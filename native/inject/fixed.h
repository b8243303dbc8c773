#pragma once

#include "inject/plan.h"

extern const struct etl_records etl_fixed_records;

/* The counters of unified memory are set up by one interface for both ways. */
int etl_configure_unified_memory(void);

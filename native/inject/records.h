#pragma once

#include "inject/plan.h"

/* The way that this process uses; NULL if what was asked for cannot be had. */
const struct etl_records *etl_records_choose(const struct etl_plan *plan, struct etl_error *error);

#pragma once

#include "inject/plan.h"

extern const struct etl_records etl_selected_records;

/* Why selected records cannot be had here; NULL if they can. */
const char *etl_selected_obstacle(void);

#pragma once

#include <stdbool.h>

#include "etl/error.h"

/* Starts tracing for the collector that the environment names; `is_late` unless CUDA is being
 * initialised.  0, or -errno: then the
 * collector knows why too, if it could be told. */
int etl_session_begin(bool is_late, struct etl_error *error);
/* Loads libcupti, if it is not; 0 or -errno. */
int etl_session_load_cupti(struct etl_error *error);

#pragma once

#include "etl/error.h"

/* Starts tracing for the collector that the environment names.  0, or -errno: then the
 * collector knows why too, if it could be told. */
int etl_session_begin(struct etl_error *error);
/* Hands over all that there is and lets go of CUPTI; another session can begin then. */
int etl_session_end(struct etl_error *error);
/* Loads libcupti, if it is not; 0 or -errno. */
int etl_session_load_cupti(struct etl_error *error);

/* What the injected library offers to a Python program that it is loaded in. */
#pragma once

#include "etl/error.h"

/* cffi: begin */
/* Begins to record for the collector that the environment names.  0 or -errno. */
int cupti_etl_begin(struct etl_error *error);
/* Hands over all records and lets go of CUPTI.  0 or -errno. */
int cupti_etl_end(struct etl_error *error);
/* Between a pause and its end nothing is recorded. */
void cupti_etl_pause(int is_paused);
/* Whether records are being made. */
int cupti_etl_is_recording(void);
/* cffi: end */

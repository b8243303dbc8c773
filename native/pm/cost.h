#pragma once

#include "pm/pm_api.h"

/* Bytes of counter data that each sample of `metrics` takes on a device, as configured: the
 * device is opened for sampling and closed again. */
ETL_MUST_CHECK int pm_sample_bytes(const struct pm_api *api, size_t device, int trigger,
				   const uint8_t *config, size_t config_bytes,
				   const char *const *metrics, size_t n, double *bytes,
				   struct etl_error *error);

/* What CUPTI knows of chips, without a host. */
#pragma once

#include "pm/pm_api.h"

/* In how many passes a configuration counts. */
ETL_MUST_CHECK int pm_number_of_passes(const struct pm_api *api, const uint8_t *image,
				       size_t bytes, unsigned *passes,
				       struct etl_error *error);

/* How many hardware metrics one pass can hold at most. */
ETL_MUST_CHECK int pm_max_per_pass(const struct pm_api *api, int profiler_type,
				   const char *chip, const uint8_t *availability, size_t *count,
				   struct etl_error *error);

/* The chips that this CUPTI knows; CUPTI's memory. */
ETL_MUST_CHECK int pm_chips(const struct pm_api *api, const char *const **names, size_t *n,
			    struct etl_error *error);

/* The single-pass sets of a chip, and the base metrics in one; the caller frees `names`, which
 * holds the texts too.  -ENOTSUP where CUPTI is older than PM_API_SINGLE_PASS. */
ETL_MUST_CHECK int pm_single_pass_sets(const struct pm_api *api, const char *chip,
				       const char *const **names, size_t *n,
				       struct etl_error *error);
ETL_MUST_CHECK int pm_set_metrics(const struct pm_api *api, const char *chip, const char *set,
				  const char *const **names, size_t *n,
				  struct etl_error *error);

#pragma once

#include "pm/host.h"

/* Which of `metrics` can be counted together in one pass: all that are not optional, and of the
 * optional ones each that CUPTI accepts beside those kept before it.  Sets is_kept[i]; needs a
 * configuration for each optional metric if not all fit.  Where the others need more than one
 * pass the result is -E2BIG; where one is refused, as pm_host_config's. */
ETL_MUST_CHECK int pm_host_select(struct pm_host *host, const char *const *metrics,
				  const bool *is_optional, size_t n, bool *is_kept,
				  struct etl_error *error);

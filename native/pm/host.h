/* CUPTI's profiler host: what a chip can count, the configuration that counts it, and the
 * values of counters that were read.  Needs no GPU for the chips that it knows.
 *
 * One refused metric spoils CUPTI's host object: every later call of it answers 999.  So an
 * object that refused something is replaced before its next use, and a configuration begins
 * on an object without metrics; callers see one `pm_host` that goes on working.  A host is
 * used by one thread at a time.
 *
 * For what is returned see pm_api.h. */
#pragma once

#include <stdbool.h>

#include "pm/pm_api.h"

struct pm_host;

/* A host for `chip`.  `availability`: what the device allows to count, copied, or NULL;
 * `single_pass_set`: its name or NULL. */
ETL_MUST_CHECK int pm_host_new(const struct pm_api *api, const char *chip, int profiler_type,
			       const uint8_t *availability, size_t availability_bytes,
			       const char *single_pass_set, struct pm_host **out,
			       struct etl_error *error);
void pm_host_free(struct pm_host *host);

/* The configuration that counts `metrics`, and in how many passes.  The caller frees `image`.
 * Where a metric is refused the message names it. */
ETL_MUST_CHECK int pm_host_config(struct pm_host *host, const char *const *metrics, size_t n,
				  uint8_t **image, size_t *bytes, unsigned *passes,
				  struct etl_error *error);

/* The values of `metrics` at the indices first .. first + count - 1 of a counter data image:
 * metric m of the i-th goes to columns[m][i]. */
ETL_MUST_CHECK int pm_host_evaluate_range(struct pm_host *host, const uint8_t *image,
					  size_t bytes, size_t first, size_t count,
					  const char *const *metrics, size_t n,
					  double *const *columns, struct etl_error *error);

/* Names are CUPTI's memory, valid until the next call with this host. */
ETL_MUST_CHECK int pm_host_base_metrics(struct pm_host *host, int metric_type,
					const char *const **names, size_t *n,
					struct etl_error *error);
ETL_MUST_CHECK int pm_host_sub_metrics(struct pm_host *host, int metric_type,
				       const char *metric, const char *const **names,
				       size_t *n, struct etl_error *error);

struct pm_description { /* texts as above; "" for what CUPTI does not say */
	const char *description;
	const char *hardware_unit;
	const char *dimension;
	int metric_type;
	int collection_scope; /* PM_SCOPE_UNKNOWN before PM_API_SCOPE */
};
ETL_MUST_CHECK int pm_host_properties(struct pm_host *host, const char *metric,
				      struct pm_description *out, struct etl_error *error);

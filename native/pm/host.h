/* CUPTI's profiler host: what a chip can count, the configuration that counts it, and the
 * values of counters that were read.  Needs no GPU for the chips that it knows.
 *
 * One refused metric spoils CUPTI's host object: every later call of it answers 999.  So an
 * object that refused something is replaced before its next use, and a configuration begins
 * on an object without metrics; callers see one `pm_host` that goes on working.  A host is
 * used by one thread at a time.
 *
 * For what is returned see pm_api.h. */
#ifndef ETL_PM_HOST_H
#define ETL_PM_HOST_H

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

/* Which of `metrics` can be counted together in one pass: all that are not optional, and of the
 * optional ones each that CUPTI accepts beside those kept before it.  Sets is_kept[i]; needs a
 * configuration for each optional metric if not all fit.  Where the others need more than one
 * pass the result is -E2BIG; where one is refused, as pm_host_config's. */
ETL_MUST_CHECK int pm_host_select(struct pm_host *host, const char *const *metrics,
				  const bool *is_optional, size_t n, bool *is_kept,
				  struct etl_error *error);

/* The values of `metrics` at one index of a counter data image. */
ETL_MUST_CHECK int pm_host_evaluate(struct pm_host *host, const uint8_t *image, size_t bytes,
				    size_t index, const char *const *metrics, size_t n,
				    double *values, struct etl_error *error);

/* Likewise at the indices first .. first + count - 1: metric m of the i-th goes to
 * columns[m][i]. */
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

/* Bytes of counter data that each sample of `metrics` takes on a device, as configured: the
 * device is opened for sampling and closed again. */
ETL_MUST_CHECK int pm_sample_bytes(const struct pm_api *api, size_t device, int trigger,
				   const uint8_t *config, size_t config_bytes,
				   const char *const *metrics, size_t n, double *bytes,
				   struct etl_error *error);

#endif

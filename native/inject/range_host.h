/* What the range profiler is to count on one context: made by CUPTI's profiler host. */
#pragma once

#include <stddef.h>

#include "inject/range_rows.h"

struct etl_range_config {
	void *host; /* CUPTI's */
	uint32_t count, passes;
	uint32_t all; /* with those that are not counted, which say why */
	const char *names[ETL_MOST_RANGE_METRICS];
	struct etl_range_metric metrics[ETL_MOST_RANGE_METRICS];
	uint8_t *image;
	size_t image_bytes;
};

/* `list`: names with commas between them; several with bars between them are one, of which the first
 * that the chip has is taken, and a bar behind it says that it may have none.  `context`: to ask what can be counted
 * now, which CUPTI does not tell once a context is profiled; NULL: all that the chip has.  CUPTI's
 * result, or -errno. */
int64_t etl_range_config_make(struct etl_range_config *config, void *context, uint32_t device,
			      const char *list);
/* How often something is executed for metrics.  CUPTI's result, or -errno. */
int64_t etl_range_config_passes(void *context, uint32_t device, const char *const *names, uint32_t n,
				uint32_t *passes);
/* One more that is not counted, and says why. */
void etl_range_config_lack(struct etl_range_config *config, const struct etl_range_metric *metric);
void etl_range_config_free(struct etl_range_config *config);
/* All metrics of a range of counter data; a result for each of `all`: 0, CUPTI's, or -EDOM. */
void etl_range_config_evaluate(const struct etl_range_config *config, const uint8_t *image,
			       size_t bytes, double *values, int32_t *results);

#pragma once

#include <stddef.h>
#include <stdint.h>
#include "etl/error.h"

/* Durations and other numbers of which most fit in 32 bits. */
struct series {
	uint32_t *small;
	int64_t *odd; /* those that do not fit */
	size_t n_small, n_odd, small_capacity, odd_capacity;
};

ETL_MUST_CHECK int series_push(struct series *series, int64_t value);
void series_free(struct series *series);
static inline size_t series_count(const struct series *series)
{
	return series->n_small + series->n_odd;
}
/* The quantiles at `at`, which rises, as quantile_cont gives them; -ENOMEM. */
ETL_MUST_CHECK int series_quantiles(const struct series *series, const double *at, unsigned n,
				    double *out);

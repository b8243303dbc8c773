/* What of a value belongs to whom. */
#pragma once

#include "attribution/overlap.h"

/* By group of the fit, and by group and metric. */
struct shared {
	double *alone_weight, *alone_inflation, *alone_blocks;
	double *weight, *inflation, *blocks, *unknown;
	double *alone, *alone_variance, *additive, *additive_variance;
	double *shared, *shared_variance, *spread;
};

int share_out(const struct device *device, int metrics, const uint8_t *is_union,
	      const struct shared *out) ETL_MUST_CHECK;

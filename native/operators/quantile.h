#pragma once

#include <stddef.h>
#include <stdint.h>

/* A quantile of some values as quantile_cont gives it; they are put in another order. */
double quantile(int64_t *values, size_t n, double at);

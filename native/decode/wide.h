#pragma once

#include "decode/process.h"

/* The faster function for a column on this processor, or NULL; see gather.h. */
gather_fn *wide_for(const struct etl_column *column, uint8_t width);

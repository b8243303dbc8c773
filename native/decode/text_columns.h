#pragma once

#include "decode/process.h"

/* The function for a column of text; see gather.h. */
gather_fn *text_for(const struct etl_column *column, uint8_t width);

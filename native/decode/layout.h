#pragma once

#include "decode/process.h"

/* The function that reads a column; see gather.h. */
gather_fn *gather_for(const struct etl_column *column, uint8_t width);
/* Copies strides and layouts out of the header, keeping only what is possible. */
void process_refresh(struct etl_process *process);

#pragma once

#include "decode/process.h"

/* Copies strides and layouts out of the header, keeping only what is possible. */
void process_refresh(struct etl_process *process);

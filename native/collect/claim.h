#pragma once

#include "decode/process.h"

/* Lets another collector have the segment. */
void process_unlock(struct etl_process *process);

/* Rows of pc_sample, pc_window and cubin; see etl/pc_samples.h. */
#pragma once

#include "decode/process.h"

/* A slot of them; -ENOMEM. */
ETL_MUST_CHECK int decode_pc_samples(struct etl_process *process, const uint8_t *data, uint32_t bytes);

/* Rows that the traced program says itself; see etl/rows.h. */
#pragma once

#include "decode/process.h"

/* A slot of each; -ENOMEM. */
ETL_MUST_CHECK int decode_ranges(struct etl_process *process, const uint8_t *data, uint32_t bytes);
ETL_MUST_CHECK int decode_facts(struct etl_process *process, const uint8_t *data, uint32_t bytes);

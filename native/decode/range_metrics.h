/* Rows of launch_metric; see etl/range_metrics.h. */
#pragma once

#include "decode/process.h"

/* A slot of them; -ENOMEM. */
ETL_MUST_CHECK int decode_range_metrics(struct etl_process *process, const uint8_t *data,
					uint32_t bytes);

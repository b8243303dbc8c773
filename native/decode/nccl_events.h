/* Rows of nccl_event; see etl/nccl_events.h. */
#pragma once

#include "decode/process.h"

/* A slot of events; -ENOMEM. */
ETL_MUST_CHECK int decode_nccl_events(struct etl_process *process, const uint8_t *data, uint32_t bytes);

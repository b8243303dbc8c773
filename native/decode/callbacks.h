/* Rows of callback_event; see etl/callbacks.h. */
#pragma once

#include "decode/process.h"

/* A slot of events; -ENOMEM. */
ETL_MUST_CHECK int decode_callbacks(struct etl_process *process, const uint8_t *data, uint32_t bytes);

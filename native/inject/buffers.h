#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "etl/segment.h"

/* What the two callbacks that CUPTI calls do. */
void etl_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void etl_buffer_completed(uint8_t *buffer, size_t size, size_t valid);
uint64_t etl_count_held(void);
/* Whether a kernel of this process has ever been recorded. */
bool etl_had_kernels(void);
/* Notes how the records of a kind lie; with `publish` held once records flow. */
void etl_set_stride(uint32_t activity, uint32_t stride);
void etl_set_fields(uint32_t activity, uint32_t stride, const struct etl_field *fields, size_t n);

/* Which devices and contexts CUPTI has told of since the capture began. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In a record of DEVICE or CONTEXT. */
void etl_told(uint32_t activity, const uint8_t *record);
/* Of a row of the table, by its id; only the first 64 are kept. */
bool etl_is_told(uint32_t table, int64_t id);
void etl_told_forget(void);

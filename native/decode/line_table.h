/* CPython's table of lines, as its Objects/locations.md describes it for 3.11 and later. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The line of the instruction at a byte of the code; 0 if the table does not say.  It may hold
 * anything. */
int32_t line_at(const uint8_t *table, size_t bytes, int32_t first_line, uint32_t at);

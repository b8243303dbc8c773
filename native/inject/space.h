#pragma once

#include <stdint.h>
#include "etl/error.h"

/* The most steps that a segment may have, of so many that are wanted; 0 and the reason if
 * there can be none. */
uint32_t etl_steps_that_fit(uint32_t wanted, struct etl_error *error);

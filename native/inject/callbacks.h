/* CUPTI's callbacks at the program's calls, for all that need them: one subscription. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "etl/error.h"

/* Whether anything needs them: the one subscription of CUPTI's first interface is not taken
 * without need, for another client may want it. */
bool etl_callbacks_are_wanted(void);
/* Of the first interface; nothing if it is ours already. */
int etl_callbacks_subscribe(struct etl_error *error);
/* Switches on what is needed, for a subscriber with etl_callbacks_call(). */
int etl_callbacks_enable(void *subscriber, struct etl_error *error);
void etl_callbacks_call(void *unused, uint32_t domain, uint32_t cbid, const void *info);

#pragma once

#include <stdbool.h>
#include <stdint.h>

void etl_orders_enable(void *subscriber); /* callbacks, for a subscription that is new */
/* Whether callbacks are on, and there will be no order any more. */
bool etl_orders_are_over(void);
/* Switches those off that nobody else needs. */
void etl_orders_disable(void *subscriber, bool (*is_kept)(uint32_t domain, uint32_t cbid));
bool etl_orders_mean(uint32_t cbid);
void etl_orders_call(uint32_t cbid); /* at its entry */

#pragma once

#include <stdbool.h>
#include <stdint.h>

void etl_orders_find(void); /* the calls, for a subscription that is new */
/* Whether callbacks are to be switched on because of an order, or off, as it is done. */
bool etl_orders_are_due(void);
/* Does that, but for those that are kept on for others. */
void etl_orders_arm(void *subscriber, bool (*is_kept)(uint32_t cbid));
bool etl_orders_mean(uint32_t cbid);
/* At the entry of a call: true if that is where orders are carried out. */
bool etl_orders_call(uint32_t cbid);

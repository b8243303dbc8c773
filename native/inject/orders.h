#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether the collector's orders wait until the program has waited for the GPU. */
bool etl_orders_wait(void);
void etl_orders_enable(void *subscriber);
bool etl_orders_mean(uint32_t cbid);
void etl_orders_call(uint32_t cbid, bool is_return);

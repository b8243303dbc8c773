#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* What callbacks.c knows of callbacks. */
struct etl_orders_of {
	pthread_mutex_t *changing; /* held while callbacks are switched on and off */
	void *(*subscriber)(void); /* the capture's; NULL if there is none */
	bool (*is_kept)(uint32_t domain, uint32_t cbid); /* on, whatever is ordered */
};

void etl_orders_find(void); /* the calls, for a subscription that is new */
/* Switches callbacks on because of an order, or off, as it is done.  In a callback nobody may be
 * waited for: whoever holds the lock may be waiting in CUPTI for that very callback. */
void etl_orders_settle(const struct etl_orders_of *of, bool is_patient);
bool etl_orders_mean(uint32_t cbid);
void etl_orders_call(uint32_t cbid, const struct etl_orders_of *of); /* at its entry */

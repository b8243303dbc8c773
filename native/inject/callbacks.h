/* CUPTI's callbacks at the program's calls, for all that need them: one subscription. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "etl/error.h"

/* A capture begins: what is subscribed for others makes way, unless the capture can use it. */
void etl_callbacks_prepare(bool is_selected);
/* Of the first interface, for fixed records. */
int etl_callbacks_subscribe(struct etl_error *error);
/* Switches on what is needed, for a subscriber with etl_callbacks_call(). */
int etl_callbacks_enable(void *subscriber, struct etl_error *error);
/* Lets go of that subscriber, which becomes NULL. */
void etl_callbacks_unsubscribe(void **subscriber);
/* Hands over the events that have gathered for the capture; for the timer thread. */
void etl_callbacks_flush(void);
/* For the timer thread: switches off what carries out the collector's orders, once there are none. */
void etl_callbacks_end_orders(void);
/* It has ended; others go on. */
void etl_callbacks_leave(void);
/* For a watch of the program's (see callback_watch.h), which has begun; and that is to end. */
int etl_callbacks_add(int number, struct etl_error *error);
void etl_callbacks_remove(int number);
void etl_callbacks_call(void *unused, uint32_t domain, uint32_t cbid, const void *info);
/* In the child of a fork. */
void etl_callbacks_forget(void);

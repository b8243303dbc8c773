/* --python-stacks: the Python stack of each launch, from CUPTI's callback of the driver's call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "etl/error.h"
#include "etl/stacks.h"

/* What the environment says is read anew: a session begins, and nothing has been
 * published yet. */
void etl_launch_stacks_forget(void);
bool etl_launch_stacks_are_wanted(void);
/* Asks CUPTI to tell a subscriber of the calls; a negative errno. */
int etl_launch_stacks_enable(void *subscriber, struct etl_error *error);
/* The calling thread's stack, published if it is new; its id is 0 if it has none. */
enum etl_stack_state etl_launch_stacks_here(uint64_t *id);
bool etl_launch_stacks_mean(uint32_t cbid); /* whether it asked for them */
/* What the subscriber does about a call that begins. */
void etl_launch_stacks_call(uint32_t cbid, uint32_t correlation_id);
/* Hands over what has gathered; for the timer thread, which also looks for Python here. */
void etl_launch_stacks_flush(void);

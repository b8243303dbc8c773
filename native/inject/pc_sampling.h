/* PC sampling: CUPTI looks, again and again, where the warps of a GPU are and what they wait for.
 * Goes with --pc-sampling; without it, nothing here is done. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool etl_pc_sampling_is_wanted(void);
/* Asks CUPTI to tell a subscriber of contexts and modules, and of launches where they matter. */
void etl_pc_sampling_enable(void *subscriber);
/* Whether it asked for this callback. */
bool etl_pc_sampling_means(uint32_t domain, uint32_t cbid);
/* What the subscriber does about the resource domain: CUpti_ResourceData. */
void etl_pc_sampling_resource(uint32_t cbid, const void *info);
/* And about the begin of a call of the driver's, in its context. */
void etl_pc_sampling_call(uint32_t cbid, void *context);
/* Takes what is there to be had, and lets go of all contexts; for the timer thread, at the end. */
void etl_pc_sampling_finish(void);
void etl_pc_sampling_forget(void);

/* Counts of single instructions: CUPTI patches the code of kernels before their first launch, so
 * that it counts itself.  Goes with --sass-metrics; without it, nothing here is done. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool etl_sass_metrics_are_wanted(void);
/* Asks a subscriber for the driver's launches, and for contexts and modules. */
void etl_sass_metrics_enable(void *subscriber);
bool etl_sass_metrics_mean(uint32_t domain, uint32_t cbid);
/* What the subscriber does when a call of the driver's begins, in its context. */
void etl_sass_metrics_call(uint32_t cbid, void *context);
/* What it does about the resource domain: CUpti_ResourceData. */
void etl_sass_metrics_resource(uint32_t cbid, const void *info);
/* Takes what was counted, and lets go of all contexts; for the timer thread, at the end. */
void etl_sass_metrics_finish(void);
void etl_sass_metrics_forget(void);

/* Metrics of single launches by CUPTI's range profiler: which launches, and when. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inject/callback_events.h"

bool etl_range_metrics_are_wanted(void);
/* Asks a subscriber for the driver's launches and the ends of contexts. */
void etl_range_metrics_enable(void *subscriber);
bool etl_range_metrics_mean(uint32_t domain, uint32_t cbid);
/* What the subscriber does when a call of the driver's begins and when it returns. */
void etl_range_metrics_call(uint32_t cbid, const struct etl_callback_data *data);
/* What it does about the resource domain: CUpti_ResourceData. */
void etl_range_metrics_resource(uint32_t cbid, const void *info);
/* Lets go of all contexts; for the timer thread, at the end. */
void etl_range_metrics_finish(void);
void etl_range_metrics_forget(void);

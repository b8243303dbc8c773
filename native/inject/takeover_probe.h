#pragma once

#include "inject/plan.h"

/* A session begins: no record is waited for. */
void etl_takeover_probe_forget(void);
/* Adds the probe's call to the plan. */
void etl_takeover_probe_plan(struct etl_plan *plan);
/* Makes the call, if it is time. */
void etl_takeover_probe_call(void);
/* After a flush: whether another CUPTI client has taken over. */
bool etl_takeover_probe_is_lost(void);
/* Marks the record if it is a probe's. */
bool etl_takeover_probe_mark(uint8_t *record);

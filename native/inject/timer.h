#pragma once

int etl_timer_start(void);
/* A flush of all that CUPTI holds, as the process may end without another. */
void etl_timer_settle(void);
/* The last flush, for as long as it gets on: 0 or -ETIMEDOUT. */
int etl_timer_finish(void);

#pragma once

int etl_timer_start(void);
/* The last flush, for as long as it gets on: 0 or -ETIMEDOUT. */
int etl_timer_finish(void);

#pragma once

int etl_timer_start(void);
/* The last flush, bounded to two seconds: 0 or -ETIMEDOUT. */
int etl_timer_finish(void);

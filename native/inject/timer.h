#pragma once

int etl_timer_start(void);
void etl_timer_finish(void); /* last flush, bounded to two seconds */

#ifndef ETL_INJECT_TIMER_H
#define ETL_INJECT_TIMER_H

int etl_timer_start(void);
void etl_timer_finish(void); /* last flush, bounded to two seconds */

#endif

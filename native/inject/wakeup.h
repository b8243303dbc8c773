#ifndef ETL_INJECT_WAKEUP_H
#define ETL_INJECT_WAKEUP_H

/* The collector's page, or one of our own until the collector's comes. */
struct etl_wakeup_page *etl_wakeup_map(void);
void etl_wakeup_receive(int sock);
void etl_wakeup_send(void);

#endif

#pragma once

/* The collector's page, or one of our own until the collector's comes. */
struct etl_wakeup_page *etl_wakeup_map(void);
void etl_wakeup_receive(int sock);
void etl_wakeup_send(void);

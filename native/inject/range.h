/* When to record: --capture-range, only while a range of the program is open; and where the
 * collector's orders are carried out. */
#pragma once

#include <stdbool.h>

/* The setting, or NULL.  Read once: the program may change its environment while its own
 * threads ask. */
const char *etl_range(void);
/* Whether the program's threads carry them out, at the entry of a call (see orders.c), and not the
 * timer's thread at once. */
bool etl_is_switched_in_calls(void);
/* A session begins: the settings are read anew. */
void etl_range_forget(void);
/* Whether one is open; without the setting, always. */
bool etl_range_is_open(void);
/* How many are. */
int etl_range_open_count(void);
/* One was opened (+1) or closed (-1). */
void etl_range_count(int by);

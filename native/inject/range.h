/* --capture-range: recording only while a range of the program is open. */
#pragma once

#include <stdbool.h>

/* The setting, or NULL.  Read once: the program may change its environment while its own
 * threads ask. */
const char *etl_range(void);
/* A session begins: the setting is read anew. */
void etl_range_forget(void);
/* Whether one is open; without the setting, always. */
bool etl_range_is_open(void);
/* How many are. */
int etl_range_open_count(void);
/* One was opened (+1) or closed (-1). */
void etl_range_count(int by);

#pragma once

#include <stdbool.h>

/* The clock of the process's records is ours from now on; and whether it still is.  Where
 * CUPTI cannot tell, it is. */
void etl_clock_set(void);
bool etl_clock_is_ours(void);

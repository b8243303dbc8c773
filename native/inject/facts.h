/* Devices and contexts that CUPTI does not tell of.
 *
 * It tells of each once in a process.  A capture that begins from inside when CUDA is initialised
 * already may come too late for that; then the driver is asked, and what it says becomes the row
 * that is missing.  Columns that it does not know stay NULL. */
#pragma once

#include <stdbool.h>

/* Asks the driver, if the program has initialised it.  Before anything is recorded, or there
 * would be records of these calls. */
void etl_facts_gather(void);
/* Nothing is to be said: the driver is being initialised, and CUPTI tells. */
void etl_facts_forget(void);
/* Writes the rows of which it has not told.  While the program runs, only once records have come. */
void etl_facts_say(bool is_over);

#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What the environment says is read anew: a session begins. */
void etl_conflict_forget(void);
/* Another client is there, and it is to win; `is_late`: the program's own code begins. */
bool etl_conflict_stands(bool is_late);
bool etl_conflict_fails(void); /* --on-conflict fail */
/* Another client has the records from now on. */
void etl_conflict_begin(void);
/* Whether they are to be asked for again: it has left, or is not to have them. */
bool etl_conflict_is_over(void);
/* Kernels are recorded for as long as somebody profiles: CUPTI then refuses to record them in
 * its other way than `recorded`.  Where it does not, that is switched off at once, and
 * the answer is CUPTI_OK.  Nobody may switch kinds of ours meanwhile. */
int etl_conflict_ask_about_kernels(uint32_t recorded);

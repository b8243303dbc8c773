#pragma once

#include <stdbool.h>

#include "inject/plan.h"

/* Which of the two ways this process uses. */
extern const struct etl_records *etl_records;

/* Asks CUPTI for the records of a plan, which must last. */
int etl_recording_start(struct etl_plan *plan, const struct etl_records *records, bool is_late,
			struct etl_error *error);
/* Switches on or off, if it is to be other than it is. */
void etl_recording_update(enum etl_switch by);
/* Likewise, by whoever comes: what is to be came of the collector's order, or else of a range. */
void etl_recording_catch_up(void);
/* A range of the program was opened (+1) or closed (-1). */
void etl_recording_count_range(int by);
bool etl_recording_is_on(void);
/* Adds to what the collector reports of this process. */
void etl_recording_note(const char *text);
void etl_recording_retry(void);
void etl_recording_finish(void); /* the process ends, or is done with it */
/* For the rest of the session nothing is recorded; what was, CUPTI still has. */
void etl_recording_stop(void);
/* After the last flush: lets go of CUPTI, and forgets what the session was to record. */
void etl_recording_release(void);
/* Whether somebody else switched off what we had switched on. */
bool etl_recording_is_cut(void);
/* Another client has the records; and: asks CUPTI for them again. */
bool etl_recording_is_lost(void);
void etl_recording_lose(void);
void etl_recording_regain(void);
/* After a start that failed: nothing more is recorded. */
void etl_recording_undo(void);

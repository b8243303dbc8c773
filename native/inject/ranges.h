/* Ranges of the program's own code: what cupti_etl.range() and cupti_etl.step() open and close.
 *
 * A range belongs to the thread that opens it.  What runs in pieces (a task of asyncio) is put
 * aside with its ranges at the end of a piece, and taken up again at the next. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etl/rows.h"

struct etl_text {
	const char *bytes;
	size_t length;
};

/* Opens a range of `owner`, which may have several open, and closes the last one of the calling
 * thread, or of another if that has none.  False: there is no memory; it has none. */
bool etl_range_begin(const void *owner, struct etl_text name, struct etl_text attributes);
bool etl_range_end(const void *owner);
/* The owner goes away; what it has open stays open. */
void etl_range_disown(const void *owner);
/* Ends the step of the calling thread, if it is in one, and begins another, or none. */
void etl_range_step(struct etl_text attributes);
void etl_range_step_end(void);

/* A range that whoever opens it keeps account of, as those of PyTorch are: on one thread, the last
 * one first.  With an id of 0 nothing is recorded, and there is nothing to close. */
struct etl_range_mark {
	int32_t marker_id;
	uint32_t capture;
};
struct etl_range_mark etl_range_open(enum etl_range_domain domain, struct etl_text name,
				     int64_t payload);
void etl_range_close(enum etl_range_domain domain, struct etl_range_mark mark);

/* Ranges of this thread that are opened from here on belong to a piece; until when? */
uint64_t etl_ranges_mark(void);
/* The piece ends: its ranges are put aside.  NULL: it has none. */
struct etl_open_range *etl_ranges_suspend(uint64_t mark);
/* They go on. */
void etl_ranges_resume(struct etl_open_range *aside);

/* Called by the timer: gives what is recorded to the collector. */
void etl_ranges_flush(void);
/* The capture ends, and the steps with it. */
void etl_ranges_finish(void);
/* Another begins: what is open is not recorded in it. */
void etl_ranges_forget(void);
/* In the child of a fork. */
void etl_ranges_in_child(void);

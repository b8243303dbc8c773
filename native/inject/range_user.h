/* --range-by range: what the program does while a range of --capture-range is open, measured as one. */
#pragma once

/* One was opened (+1) or closed (-1): recording is switched, and the first of them is measured until
 * the last one closes. */
void etl_range_user_count(int by);
/* The context goes away, or with NULL the process: what is open on it is not measured. */
void etl_range_user_leave(const void *context);
/* A launch on the context begins; see etl_launch_hash(). */
void etl_range_user_launch(const void *context, uint64_t launch);
void etl_range_user_forget(void);

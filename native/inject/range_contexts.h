/* The range profiler's sessions, one a context, and why there is none. */
#pragma once

#include "etl/segment.h"
#include "inject/range_session.h"

/* The context's, which is the caller's until it releases it; NULL: nothing is measured. */
struct etl_range_session *etl_range_take(void *context);
void etl_range_release(struct etl_range_session *session);
/* Waits while another thread measures: what ran meanwhile would be measured with it. */
void etl_range_await(const void *context);
void etl_range_context_ends(const void *context);

/* Whether sessions may begin: whoever is not told of a context's end cannot let go of it. */
void etl_range_contexts_open(bool is);
void etl_range_contexts_finish(void);
/* A capture begins; false: one of the capture before is still in hand. */
bool etl_range_contexts_forget(void);

/* Notes why nothing is measured from now on: CUPTI's result, or -errno.  The first reason stays. */
void etl_range_fail(int64_t code);
bool etl_range_has_failed(void);
/* Counts a launch or a range that is not measured. */
void etl_range_leave_out(enum etl_left_out reason);

/* Ranges of a thread that go on, and which is the innermost of the thread from some time on.
 *
 * Those that may be around something to come are on a stack, each of which lasts at least as long as
 * those above it; one that a later one outlasts is around nothing any more. */
#pragma once

#include <stdbool.h>

#include "arrow/heap.h"
#include "operators/operator.h"

enum { TURN_PROCESS, TURN_THREAD, TURN_AT, TURN_RANGE, N_TURNS };

struct open {
	int64_t until; /* INT64_MAX: for ever */
	int64_t row, range;
	bool is_moment; /* it lasts no time */
};

struct open_ranges {
	struct open *stack;
	size_t depth, capacity;
	struct heap outlasted; /* rows, by their ends */
	size_t turn;	       /* the last one, counted from 1 */
	bool is_begin;	       /* it was a begin, rather than the end of others */
};

static inline const struct open *open_innermost(const struct open_ranges *open)
{
	return open->depth ? &open->stack[open->depth - 1] : NULL;
}

/* Ends one that ends by then, if there is one: 1, and its row; 0; or -ENOMEM. */
ETL_MUST_CHECK int open_end(struct open_ranges *open, int64_t by, const int64_t *thread,
			    struct table *turns, int64_t *row);
/* Finds one that another outlasts, which is around nothing from now on: as above. */
ETL_MUST_CHECK int open_outlast(struct open_ranges *open, int64_t until, int64_t *row);
/* Begins one, which outlasts none; -ENOMEM. */
ETL_MUST_CHECK int open_begin(struct open_ranges *open, struct open one, int64_t start,
			      const int64_t *thread, struct table *turns);
void open_free(struct open_ranges *open);

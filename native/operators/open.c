#include <errno.h>
#include <stdlib.h>

#include "arrow/grow.h"
#include "operators/open.h"

/* From `at` on another range is the innermost.  What begins then counts before all that ends. */
static int turn(struct open_ranges *open, const int64_t *thread, int64_t at, bool is_begin,
		struct table *turns)
{
	const struct open *innermost = open_innermost(open);
	int64_t range = innermost ? innermost->range : UNKNOWN;
	int64_t *last = open->turn ? turns->rows + turns->width * (open->turn - 1) : NULL;

	if (last && last[TURN_AT] == at) {
		if (!is_begin && open->is_begin)
			return 0;
		last[TURN_RANGE] = range;
	} else {
		if (TABLE_PUT(turns, thread[0], thread[1], at, range))
			return -ENOMEM;
		open->turn = turns->n;
	}
	open->is_begin = is_begin;
	return 0;
}

int open_end(struct open_ranges *open, int64_t by, const int64_t *thread, struct table *turns,
	     int64_t *row)
{
	const struct open *top = open_innermost(open);
	int64_t at = top ? top->until : INT64_MAX;
	bool is_moment = false;

	if (open->outlasted.n && open->outlasted.items[0].end < at)
		at = open->outlasted.items[0].end;
	if (at > by || at == INT64_MAX)
		return 0;
	if (top && top->until == at) {
		*row = top->row;
		is_moment = top->is_moment;
		open->depth--;
	} else {
		*row = heap_pop(&open->outlasted).what;
	}
	return !is_moment && turn(open, thread, at, false, turns) ? -ENOMEM : 1;
}

int open_outlast(struct open_ranges *open, int64_t until, int64_t *row)
{
	const struct open *top = open_innermost(open);

	if (!top || top->until >= until)
		return 0;
	*row = top->row;
	open->depth--;
	return heap_push(&open->outlasted, top->until, top->row) ? -ENOMEM : 1;
}

int open_begin(struct open_ranges *open, struct open one, int64_t start, const int64_t *thread,
	       struct table *turns)
{
	if (GROW(open->stack, open->depth, open->capacity))
		return -ENOMEM;
	open->stack[open->depth++] = one;
	return one.is_moment ? 0 : turn(open, thread, start, true, turns);
}

void open_free(struct open_ranges *open)
{
	free(open->stack);
	free(open->outlasted.items);
}

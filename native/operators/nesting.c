/* _range_parent, _range_path, _range_time and _range_turn: which range is around each, what their
 * names are, and which is the innermost of a thread from some time on.
 *
 * Rows of the input: process, thread, start, end (UNKNOWN: never), range, name, the name without
 * what makes ranges of one kind differ; by process and thread in the order of the starts, of ranges
 * that begin at once the longer first.
 *
 * Ranges that may be around something to come are on a stack, each of which lasts at least as long
 * as those above it: one that ends before a later one does is around nothing any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/ids.h"
#include "arrow/heap.h"
#include "operators/operator.h"

enum { PROCESS, THREAD, START, END, RANGE, NAME, KIND, N_FIELDS };
enum { RANGES, PATHS, TURNS };
enum { OUT_RANGE, OUT_AROUND, OUT_DEPTH, OUT_PATH, OUT_ALIKE, OUT_PROCESS, OUT_START, OUT_END,
       N_RANGES };
enum { PATH, PARENT_PATH, PATH_NAME, PATH_DEPTH, N_PATHS };
enum { TURN_PROCESS, TURN_THREAD, TURN_AT, TURN_RANGE, N_TURNS };

struct open {
	int64_t until, range, path, alike;
};

struct nesting {
	struct ids paths;	/* by parent path and name */
	ITEMS(int64_t) alike;	/* by parent and kind, the first range */
	struct open *stack;
	size_t depth, capacity;
	struct heap ends;
	int64_t process, thread, turn_ns; /* when the last turn of the thread was */
	bool is_begun, has_turn;
};

/* From `at` on `range` is the innermost of the thread; at its begin rather than at another's end. */
static int turn(struct nesting *nesting, int64_t at, int64_t range, bool is_begin,
		struct table *out)
{
	struct table *turns = &out[TURNS];

	if (nesting->has_turn && nesting->turn_ns == at) {
		if (is_begin)
			turns->rows[turns->width * (turns->n - 1) + TURN_RANGE] = range;
		return 0;
	}
	nesting->turn_ns = at;
	nesting->has_turn = true;
	return TABLE_PUT(turns, nesting->process, nesting->thread, at, range);
}

/* Ranges that last less are around nothing that comes. */
static void leave(struct nesting *nesting, int64_t until)
{
	while (nesting->depth && nesting->stack[nesting->depth - 1].until < until)
		nesting->depth--;
}

static const struct open *innermost(const struct nesting *nesting)
{
	static const struct open none = {INT64_MAX, UNKNOWN, UNKNOWN, UNKNOWN};

	return nesting->depth ? &nesting->stack[nesting->depth - 1] : &none;
}

/* The ends before a start, each time once. */
static int end_before(struct nesting *nesting, int64_t start, struct table *out)
{
	while (nesting->ends.n && nesting->ends.items[0].end < start) {
		int64_t at = heap_pop(&nesting->ends).end;

		while (nesting->ends.n && nesting->ends.items[0].end == at)
			heap_pop(&nesting->ends);
		leave(nesting, at + 1);
		if (turn(nesting, at, innermost(nesting)->range, false, out))
			return -ENOMEM;
	}
	return 0;
}

/* The number of the path of a range in the innermost that is open; -ENOMEM. */
static int64_t path_of(struct nesting *nesting, int64_t name, struct table *out)
{
	int64_t parent = innermost(nesting)->path;
	size_t known = nesting->paths.n;
	int64_t number;

	nesting->paths.width = 2;
	number = ids_of(&nesting->paths, (const int64_t[]){parent, name});
	if (number < 0 || (size_t)number < known)
		return number;
	if (TABLE_PUT(&out[PATHS], number, parent, name, (int64_t)nesting->depth))
		return -ENOMEM;
	return number;
}

/* The number of all ranges of that kind in ranges that are alike, of which this is one; -ENOMEM. */
static int64_t alike_of(struct nesting *nesting, int64_t kind, int64_t range)
{
	const int64_t key[] = {innermost(nesting)->alike, kind};
	size_t known = nesting->alike.ids.n;
	int64_t *first = ITEM_OF(nesting->alike, 2, key);

	if (!first)
		return -ENOMEM;
	if (nesting->alike.ids.n > known || range < *first)
		*first = range;
	return first - nesting->alike.all;
}

/* All ends of a thread, of which no more comes. */
static int end_all(struct nesting *nesting, struct table *out)
{
	int result = end_before(nesting, INT64_MAX, out);

	nesting->ends.n = 0;
	nesting->depth = 0;
	return result;
}

static int nesting_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct nesting *nesting = state;
	int64_t until = row[END] == UNKNOWN ? INT64_MAX : row[END], path, alike, *made;

	(void)input;
	if (!nesting->is_begun || row[PROCESS] != nesting->process ||
	    row[THREAD] != nesting->thread) {
		if (end_all(nesting, out))
			return -ENOMEM;
		nesting->process = row[PROCESS];
		nesting->thread = row[THREAD];
		nesting->is_begun = true;
		nesting->has_turn = false;
	}
	if (end_before(nesting, row[START], out))
		return -ENOMEM;
	leave(nesting, until);
	path = path_of(nesting, row[NAME], out);
	alike = alike_of(nesting, row[KIND], row[RANGE]);
	made = path < 0 || alike < 0 ? NULL : table_add(&out[RANGES]);
	if (!made)
		return -ENOMEM;
	made[OUT_RANGE] = row[RANGE];
	made[OUT_AROUND] = innermost(nesting)->range;
	made[OUT_DEPTH] = (int64_t)nesting->depth;
	made[OUT_PATH] = path;
	made[OUT_ALIKE] = alike;
	made[OUT_PROCESS] = row[PROCESS];
	made[OUT_START] = row[START];
	made[OUT_END] = row[END];
	/* What lasts no time is passed over. */
	if ((until > row[START] && turn(nesting, row[START], row[RANGE], true, out)) ||
	    GROW(nesting->stack, nesting->depth, nesting->capacity))
		return -ENOMEM;
	nesting->stack[nesting->depth++] = (struct open){until, row[RANGE], path, alike};
	return until > row[START] && until < INT64_MAX ? heap_push(&nesting->ends, until, 0) : 0;
}

/* Numbers of ranges that are alike become the first of these, which is not known before. */
static int nesting_finish(void *state, struct table *out)
{
	struct nesting *nesting = state;
	struct table *ranges = &out[RANGES];

	for (size_t i = 0; i < ranges->n; i++) {
		int64_t *alike = &ranges->rows[ranges->width * i + OUT_ALIKE];

		*alike = nesting->alike.all[*alike];
	}
	return end_all(nesting, out);
}

static void nesting_free(void *state)
{
	struct nesting *nesting = state;

	free(nesting->stack);
	free(nesting->ends.items);
	ids_free(&nesting->paths);
	FREE_ITEMS(nesting->alike);
}

const struct operator_kind nesting_operator = {
	.name = "nesting",
	.widths = {N_FIELDS},
	.out_widths = {N_RANGES, N_PATHS, N_TURNS},
	.state_bytes = sizeof(struct nesting),
	.row = nesting_row,
	.finish = nesting_finish,
	.free = nesting_free,
};

/* _range_nesting and _range_path: which range is around each, and what their names are.
 *
 * Rows of the input: process, thread, start, end (UNKNOWN: never), range, name; by process and
 * thread in the order of the starts, of ranges that begin at once the longer first.
 *
 * Ranges that may be around something to come are on a stack, each of which lasts at least as long
 * as those above it: one that ends before a later one does is around nothing any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/ids.h"
#include "arrow/heap.h"
#include "operators/operator.h"

enum { PROCESS, THREAD, START, END, RANGE, NAME, N_FIELDS };
enum { NESTING, PATHS };
enum { OUT_PROCESS, OUT_THREAD, OUT_AT, OUT_END, OUT_RANGE, OUT_AROUND, OUT_DEPTH, OUT_PATH,
       N_NESTING };
enum { PATH, PARENT_PATH, PATH_NAME, PATH_DEPTH, N_PATHS };

struct open {
	int64_t until, range, path;
};

struct nesting {
	struct ids paths; /* by parent path and name */
	struct open *stack;
	size_t depth, capacity;
	struct heap ends;
	int64_t process, thread;
	bool is_begun;
};

static int add(const struct nesting *nesting, int64_t at, int64_t end, int64_t range, int64_t path,
	       struct table *out)
{
	int64_t *row = table_add(&out[NESTING]);

	if (!row)
		return -ENOMEM;
	row[OUT_PROCESS] = nesting->process;
	row[OUT_THREAD] = nesting->thread;
	row[OUT_AT] = at;
	row[OUT_END] = end;
	row[OUT_RANGE] = range;
	row[OUT_AROUND] = nesting->depth ? nesting->stack[nesting->depth - 1].range : UNKNOWN;
	row[OUT_DEPTH] = (int64_t)nesting->depth;
	row[OUT_PATH] = path;
	return 0;
}

/* Ranges that last less are around nothing that comes. */
static void leave(struct nesting *nesting, int64_t until)
{
	while (nesting->depth && nesting->stack[nesting->depth - 1].until < until)
		nesting->depth--;
}

/* The ends before a start, each time once. */
static int end_before(struct nesting *nesting, int64_t start, struct table *out)
{
	while (nesting->ends.n && nesting->ends.items[0].end < start) {
		int64_t at = heap_pop(&nesting->ends).end;

		while (nesting->ends.n && nesting->ends.items[0].end == at)
			heap_pop(&nesting->ends);
		leave(nesting, at + 1);
		if (add(nesting, at, UNKNOWN, UNKNOWN, UNKNOWN, out))
			return -ENOMEM;
	}
	return 0;
}

/* The number of the path of a range in the innermost that is open; -ENOMEM. */
static int64_t path_of(struct nesting *nesting, int64_t name, struct table *out)
{
	int64_t parent = nesting->depth ? nesting->stack[nesting->depth - 1].path : UNKNOWN;
	size_t known = nesting->paths.n;
	int64_t number, *row;

	nesting->paths.width = 2;
	number = ids_of(&nesting->paths, (const int64_t[]){parent, name});
	if (number < 0 || (size_t)number < known)
		return number;
	row = table_add(&out[PATHS]);
	if (!row)
		return -ENOMEM;
	row[PATH] = number;
	row[PARENT_PATH] = parent;
	row[PATH_NAME] = name;
	row[PATH_DEPTH] = (int64_t)nesting->depth;
	return number;
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
	int64_t until = row[END] == UNKNOWN ? INT64_MAX : row[END], path;

	(void)input;
	if (!nesting->is_begun || row[PROCESS] != nesting->process ||
	    row[THREAD] != nesting->thread) {
		if (end_all(nesting, out))
			return -ENOMEM;
		nesting->process = row[PROCESS];
		nesting->thread = row[THREAD];
		nesting->is_begun = true;
	}
	if (end_before(nesting, row[START], out))
		return -ENOMEM;
	leave(nesting, until);
	path = path_of(nesting, row[NAME], out);
	if (path < 0 || add(nesting, row[START], row[END], row[RANGE], path, out) ||
	    GROW(nesting->stack, nesting->depth, nesting->capacity))
		return -ENOMEM;
	nesting->stack[nesting->depth++] = (struct open){until, row[RANGE], path};
	return until > row[START] && until < INT64_MAX ? heap_push(&nesting->ends, until, 0) : 0;
}

static int nesting_finish(void *state, struct table *out)
{
	return end_all(state, out);
}

static void nesting_free(void *state)
{
	struct nesting *nesting = state;

	free(nesting->stack);
	free(nesting->ends.items);
	ids_free(&nesting->paths);
}

const struct operator_kind nesting_operator = {
	.name = "nesting",
	.widths = {N_FIELDS},
	.out_widths = {N_NESTING, N_PATHS},
	.state_bytes = sizeof(struct nesting),
	.row = nesting_row,
	.finish = nesting_finish,
	.free = nesting_free,
};

/* _range_parent, _range_path, _range_time and _range_turn: which range is around each, what their
 * names are, and which is the innermost of a thread from some time on.
 *
 * Rows of the input: start, minus its end (UNKNOWN: never), range, process, thread, name, the name
 * without what makes ranges of one kind differ; in that order, of ranges that begin at once the
 * longer first.
 *
 * Ranges of a thread that may be around something to come are on a stack, each of which lasts at
 * least as long as those above it: one that ends before a later one does is around nothing any
 * more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/ids.h"
#include "arrow/heap.h"
#include "operators/operator.h"

enum { START, MINUS_END, RANGE, PROCESS, THREAD, NAME, KIND, N_FIELDS };
enum { RANGES, PATHS, TURNS };
enum { OUT_RANGE, OUT_AROUND, OUT_DEPTH, OUT_PATH, OUT_ALIKE, OUT_PROCESS, OUT_START, OUT_END,
       N_RANGES };
enum { PATH, PARENT_PATH, PATH_NAME, PATH_DEPTH, N_PATHS };
enum { TURN_PROCESS, TURN_THREAD, TURN_AT, TURN_RANGE, N_TURNS };

struct open {
	int64_t until, range, path, alike;
};

struct thread {
	struct open *stack;
	size_t depth, capacity;
	struct heap ends;
	size_t turn; /* its last one, counted from 1 */
};

struct nesting {
	struct ids paths;	/* by parent path and name */
	ITEMS(int64_t) alike;	/* by parent and kind, the first range */
	ITEMS(struct thread) threads;
};

/* From `at` on `range` is the innermost of the thread; at its begin rather than at another's end. */
static int turn(struct thread *thread, const int64_t *key, int64_t at, int64_t range, bool is_begin,
		struct table *out)
{
	struct table *turns = &out[TURNS];
	int64_t *last = thread->turn ? turns->rows + turns->width * (thread->turn - 1) : NULL;

	if (last && last[TURN_AT] == at) {
		if (is_begin)
			last[TURN_RANGE] = range;
		return 0;
	}
	if (TABLE_PUT(turns, key[0], key[1], at, range))
		return -ENOMEM;
	thread->turn = turns->n;
	return 0;
}

/* Ranges that last less are around nothing that comes. */
static void leave(struct thread *thread, int64_t until)
{
	while (thread->depth && thread->stack[thread->depth - 1].until < until)
		thread->depth--;
}

static const struct open *innermost(const struct thread *thread)
{
	static const struct open none = {INT64_MAX, UNKNOWN, UNKNOWN, UNKNOWN};

	return thread->depth ? &thread->stack[thread->depth - 1] : &none;
}

/* The ends before a start, each time once. */
static int end_before(struct thread *thread, const int64_t *key, int64_t start, struct table *out)
{
	while (thread->ends.n && thread->ends.items[0].end < start) {
		int64_t at = heap_pop(&thread->ends).end;

		while (thread->ends.n && thread->ends.items[0].end == at)
			heap_pop(&thread->ends);
		leave(thread, at + 1);
		if (turn(thread, key, at, innermost(thread)->range, false, out))
			return -ENOMEM;
	}
	return 0;
}

/* The number of the path of a range in the innermost that is open; -ENOMEM. */
static int64_t path_of(struct nesting *nesting, const struct thread *thread, int64_t name,
		       struct table *out)
{
	int64_t parent = innermost(thread)->path;
	size_t known = nesting->paths.n;
	int64_t number;

	nesting->paths.width = 2;
	number = ids_of(&nesting->paths, (const int64_t[]){parent, name});
	if (number < 0 || (size_t)number < known)
		return number;
	if (TABLE_PUT(&out[PATHS], number, parent, name, (int64_t)thread->depth))
		return -ENOMEM;
	return number;
}

/* The number of all ranges of that kind in ranges that are alike, of which this is one; -ENOMEM. */
static int64_t alike_of(struct nesting *nesting, const struct thread *thread, int64_t kind, int64_t range)
{
	const int64_t key[] = {innermost(thread)->alike, kind};
	size_t known = nesting->alike.ids.n;
	int64_t *first = ITEM_OF(nesting->alike, 2, key);

	if (!first)
		return -ENOMEM;
	if (nesting->alike.ids.n > known || range < *first)
		*first = range;
	return first - nesting->alike.all;
}

static int nesting_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct nesting *nesting = state;
	struct thread *thread = ITEM_OF(nesting->threads, 2, row + PROCESS);
	int64_t until = row[MINUS_END] == UNKNOWN ? INT64_MAX : -row[MINUS_END], path, alike, *made;

	(void)input;
	if (!thread || end_before(thread, row + PROCESS, row[START], out))
		return -ENOMEM;
	leave(thread, until);
	path = path_of(nesting, thread, row[NAME], out);
	alike = alike_of(nesting, thread, row[KIND], row[RANGE]);
	made = path < 0 || alike < 0 ? NULL : table_add(&out[RANGES]);
	if (!made)
		return -ENOMEM;
	made[OUT_RANGE] = row[RANGE];
	made[OUT_AROUND] = innermost(thread)->range;
	made[OUT_DEPTH] = (int64_t)thread->depth;
	made[OUT_PATH] = path;
	made[OUT_ALIKE] = alike;
	made[OUT_PROCESS] = row[PROCESS];
	made[OUT_START] = row[START];
	made[OUT_END] = row[MINUS_END] == UNKNOWN ? UNKNOWN : until;
	/* What lasts no time is passed over. */
	if ((until > row[START] && turn(thread, row + PROCESS, row[START], row[RANGE], true, out)) ||
	    GROW(thread->stack, thread->depth, thread->capacity))
		return -ENOMEM;
	thread->stack[thread->depth++] = (struct open){until, row[RANGE], path, alike};
	return until > row[START] && until < INT64_MAX ? heap_push(&thread->ends, until, 0) : 0;
}

/* The last ends of threads; and numbers of ranges that are alike become the first of these, which is
 * not known before. */
static int nesting_finish(void *state, struct table *out)
{
	struct nesting *nesting = state;
	struct table *ranges = &out[RANGES];
	int result = 0;

	for (size_t i = 0; i < ranges->n; i++) {
		int64_t *alike = &ranges->rows[ranges->width * i + OUT_ALIKE];

		*alike = nesting->alike.all[*alike];
	}
	for (size_t i = 0; !result && i < nesting->threads.ids.n; i++)
		result = end_before(&nesting->threads.all[i], ids_key(&nesting->threads.ids, i),
				    INT64_MAX, out);
	return result;
}

static void nesting_free(void *state)
{
	struct nesting *nesting = state;

	for (size_t i = 0; i < nesting->threads.ids.n; i++) {
		free(nesting->threads.all[i].stack);
		free(nesting->threads.all[i].ends.items);
	}
	FREE_ITEMS(nesting->threads);
	ids_free(&nesting->paths);
	FREE_ITEMS(nesting->alike);
}

const struct operator_kind nesting_operator = {
	.name = "nesting",
	.widths = {N_FIELDS},
	.ordered = 1,
	.keys = 3,
	.out_widths = {N_RANGES, N_PATHS, N_TURNS},
	.state_bytes = sizeof(struct nesting),
	.row = nesting_row,
	.finish = nesting_finish,
	.free = nesting_free,
};

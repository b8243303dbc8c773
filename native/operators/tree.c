/* _operator_place and _operator_turn: which range of a tree is around each, which ones lie in it,
 * whether it crosses others, and which is the innermost of a thread from some time on.
 *
 * Rows of the input: start, minus its end, range, process, thread; in that order, of ranges that
 * begin at once the longer first.  What ends lets go before the next begins. */
#include <errno.h>
#include <stdlib.h>

#include "arrow/ids.h"
#include "operators/open.h"

enum { START, MINUS_END, RANGE, PROCESS, THREAD, N_FIELDS };
enum { PLACES, TURNS };
enum { OUT_RANGE, OUT_AROUND, OUT_PLACE, OUT_LAST, OUT_IS_CROSSED, N_PLACES };

/* Until all are there, places count the ranges of a thread, above its number. */
#define THREAD_SHIFT 40
#define LOCAL ((INT64_C(1) << THREAD_SHIFT) - 1)

struct thread {
	struct open_ranges open;
	int64_t n; /* ranges that began */
};

struct tree {
	ITEMS(struct thread) threads;
};

static int64_t *row_of(struct table *places, int64_t row)
{
	return places->rows + places->width * (size_t)row;
}

/* Ends what ends by then: what began until now lies in it. */
static int end_by(struct thread *thread, int64_t by, const int64_t *key, int64_t last, struct table *out)
{
	int64_t row;
	int result;

	while ((result = open_end(&thread->open, by, key, &out[TURNS], &row)) > 0)
		row_of(&out[PLACES], row)[OUT_LAST] = last;
	return result;
}

/* Marks those that end in a range that goes on; it crosses these, and what others outlasted before. */
static int cross(struct open_ranges *open, int64_t until, struct table *places, int64_t *is_crossed)
{
	int64_t row;
	int result;

	while ((result = open_outlast(open, until, &row)) > 0)
		row_of(places, row)[OUT_IS_CROSSED] = 1;
	*is_crossed = open->outlasted.n && open->outlasted.items[0].end < until;
	return result;
}

static int tree_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct tree *tree = state;
	struct thread *thread = ITEM_OF(tree->threads, 2, row + PROCESS);
	const int64_t *key = row + PROCESS;
	int64_t until = -row[MINUS_END], number, is_crossed;
	struct open one = {.until = until, .row = (int64_t)out[PLACES].n, .range = row[RANGE]};
	const struct open *around;

	(void)input;
	if (!thread)
		return -ENOMEM;
	number = (thread - tree->threads.all) << THREAD_SHIFT;
	if (end_by(thread, row[START], key, number | thread->n, out) ||
	    cross(&thread->open, until, &out[PLACES], &is_crossed))
		return -ENOMEM;
	around = open_innermost(&thread->open);
	number |= ++thread->n;
	if (TABLE_PUT(&out[PLACES], row[RANGE], around ? around->range : UNKNOWN, number, number,
		      is_crossed))
		return -ENOMEM;
	/* What lasts no time has nothing inside. */
	return until > row[START] ? open_begin(&thread->open, one, row[START], key, &out[TURNS]) : 0;
}

static int compare_threads(const void *a, const void *b)
{
	const int64_t *one = *(const int64_t *const *)a, *other = *(const int64_t *const *)b;
	int result = compare_known(one[0], other[0]);

	return result ? result : compare_known(one[1], other[1]);
}

/* Instead of how many ranges began in a thread, how many did in those before it; -ENOMEM. */
static int number_threads(struct tree *tree)
{
	const struct ids *ids = &tree->threads.ids;
	const int64_t **keys = malloc((ids->n + 1) * sizeof *keys);
	int64_t before = 0;

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < ids->n; i++)
		keys[i] = ids_key(ids, i);
	qsort(keys, ids->n, sizeof *keys, compare_threads);
	for (size_t i = 0; i < ids->n; i++) {
		struct thread *thread = &tree->threads.all[(keys[i] - ids->keys) / 2];
		int64_t n = thread->n;

		thread->n = before;
		before += n;
	}
	free(keys);
	return 0;
}

static int tree_finish(void *state, struct table *out)
{
	struct tree *tree = state;

	for (size_t i = 0; i < tree->threads.ids.n; i++) {
		struct thread *thread = &tree->threads.all[i];

		if (end_by(thread, INT64_MAX, ids_key(&tree->threads.ids, i),
			   (int64_t)i << THREAD_SHIFT | thread->n, out))
			return -ENOMEM;
	}
	if (number_threads(tree))
		return -ENOMEM;
	for (size_t i = 0; i < out[PLACES].n; i++) {
		int64_t *row = row_of(&out[PLACES], (int64_t)i);
		int64_t before = tree->threads.all[row[OUT_PLACE] >> THREAD_SHIFT].n;

		row[OUT_PLACE] = before + (row[OUT_PLACE] & LOCAL);
		row[OUT_LAST] = before + (row[OUT_LAST] & LOCAL);
	}
	return 0;
}

static void tree_free(void *state)
{
	struct tree *tree = state;

	for (size_t i = 0; i < tree->threads.ids.n; i++)
		open_free(&tree->threads.all[i].open);
	FREE_ITEMS(tree->threads);
}

const struct operator_kind tree_operator = {
	.name = "tree",
	.widths = {N_FIELDS},
	.ordered = 1,
	.keys = 3,
	.out_widths = {N_PLACES, N_TURNS},
	.state_bytes = sizeof(struct tree),
	.row = tree_row,
	.finish = tree_finish,
	.free = tree_free,
};

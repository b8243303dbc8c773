/* _range_parent, _range_path, _range_time and _range_turn: which range is around each, what their
 * names are, and which is the innermost of a thread from some time on.
 *
 * Rows of the input: start, minus its end (UNKNOWN: never), range, process, thread, name, the name
 * without what makes ranges of one kind differ; in that order, of ranges that begin at once the
 * longer first. */
#include <errno.h>

#include "arrow/ids.h"
#include "operators/open.h"

enum { START, MINUS_END, RANGE, PROCESS, THREAD, NAME, KIND, N_FIELDS };
enum { RANGES, PATHS, TURNS };
enum { OUT_RANGE, OUT_AROUND, OUT_DEPTH, OUT_PATH, OUT_ALIKE, OUT_PROCESS, OUT_START, OUT_END,
       N_RANGES };
enum { PATH, PARENT_PATH, PATH_NAME, PATH_DEPTH, N_PATHS };

struct nesting {
	struct ids paths;	/* by parent path and name */
	ITEMS(int64_t) alike;	/* by parent and kind, the first range */
	ITEMS(struct open_ranges) threads;
};

/* The number of the path of a range in another; -ENOMEM. */
static int64_t path_of(struct nesting *nesting, const int64_t *around, int64_t name, struct table *out)
{
	int64_t parent = around ? around[OUT_PATH] : UNKNOWN;
	size_t known = nesting->paths.n;
	int64_t number;

	nesting->paths.width = 2;
	number = ids_of(&nesting->paths, (const int64_t[]){parent, name});
	if (number < 0 || (size_t)number < known)
		return number;
	if (TABLE_PUT(&out[PATHS], number, parent, name, around ? around[OUT_DEPTH] + 1 : 0))
		return -ENOMEM;
	return number;
}

/* The number of all ranges of that kind in ranges that are alike, of which this is one; -ENOMEM. */
static int64_t alike_of(struct nesting *nesting, const int64_t *around, int64_t kind, int64_t range)
{
	const int64_t key[] = {around ? around[OUT_ALIKE] : UNKNOWN, kind};
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
	struct open_ranges *open = ITEM_OF(nesting->threads, 2, row + PROCESS);
	int64_t until = row[MINUS_END] == UNKNOWN ? INT64_MAX : -row[MINUS_END], path, alike, other;
	struct open one = {until, (int64_t)out[RANGES].n, row[RANGE], until <= row[START]};
	int64_t *made = table_add(&out[RANGES]), *around;
	int result;

	(void)input;
	if (!open || !made)
		return -ENOMEM;
	while ((result = open_end(open, row[START] - 1, row + PROCESS, &out[TURNS], &other)) > 0)
		continue;
	while (!result && (result = open_outlast(open, until, &other)) > 0)
		result = 0;
	around = open->depth ? made - out[RANGES].width * (size_t)(one.row - open_innermost(open)->row)
			     : NULL;
	path = path_of(nesting, around, row[NAME], out);
	alike = alike_of(nesting, around, row[KIND], row[RANGE]);
	if (result || path < 0 || alike < 0)
		return -ENOMEM;
	made[OUT_RANGE] = row[RANGE];
	made[OUT_AROUND] = around ? around[OUT_RANGE] : UNKNOWN;
	made[OUT_DEPTH] = around ? around[OUT_DEPTH] + 1 : 0;
	made[OUT_PATH] = path;
	made[OUT_ALIKE] = alike;
	made[OUT_PROCESS] = row[PROCESS];
	made[OUT_START] = row[START];
	made[OUT_END] = row[MINUS_END] == UNKNOWN ? UNKNOWN : until;
	return open_begin(open, one, row[START], row + PROCESS, &out[TURNS]);
}

/* The last ends of threads; and numbers of ranges that are alike become the first of these, which is
 * not known before. */
static int nesting_finish(void *state, struct table *out)
{
	struct nesting *nesting = state;
	struct table *ranges = &out[RANGES];
	int64_t other;
	int result = 0;

	for (size_t i = 0; i < ranges->n; i++) {
		int64_t *alike = &ranges->rows[ranges->width * i + OUT_ALIKE];

		*alike = nesting->alike.all[*alike];
	}
	for (size_t i = 0; !result && i < nesting->threads.ids.n; i++) {
		while ((result = open_end(&nesting->threads.all[i], INT64_MAX,
					  ids_key(&nesting->threads.ids, i), &out[TURNS], &other)) > 0)
			continue;
	}
	return result;
}

static void nesting_free(void *state)
{
	struct nesting *nesting = state;

	for (size_t i = 0; i < nesting->threads.ids.n; i++)
		open_free(&nesting->threads.all[i]);
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

/* _range_span: each start of a range, with the first end after it that has its number.
 *
 * Rows: time, what happens (starts before ends), process, the range's number in it, thread, domain,
 * name; UNKNOWN for NULL.  Those of input 0 have no time; those of input 1 are in its order. */
#include <errno.h>
#include <stdlib.h>

#include "operators/operator.h"
#include "operators/pages.h"

enum { TIME, EVENT, PROCESS, NUMBER, THREAD, DOMAIN, NAME, N_FIELDS };
enum { NCCL_STARTS, STARTS, ENDS };
enum { OUT_PROCESS, OUT_START, OUT_END, OUT_NAME, OUT_DOMAIN, OUT_THREAD, OUT_END_THREAD, OUT_NUMBER,
       OUT_RANGE, N_OUT };

#define LEAST_NUMBERS 32 /* of a page */
#define ENDED UINT32_MAX

/* Of a process. */
struct owner {
	size_t n, from;
	int64_t process;
};

struct spans {
	/* By process and number: its last row that has no end, counted from 1; 0: it had no end; or
	 * ENDED. */
	PAGES(uint32_t, 1024) rows;
	ITEMS(int64_t) lasts;	  /* the last start, by process and thread */
	ITEMS(int64_t) loose;	  /* the greatest thread of the ends before any start, by process and number */
	ITEMS(struct owner) owners;
	size_t n_starts, n_untimed;
};

/* Until a row has an end, OUT_END_THREAD is the row before it that has none either, or what its page
 * said then; and OUT_RANGE whether NCCL began it. */
static int start(struct spans *spans, const int64_t *row, uint32_t *place, struct table *out)
{
	int64_t *made = table_add(out), *last;

	if (!made)
		return -ENOMEM;
	if (out->n == ENDED)
		return -E2BIG;
	made[OUT_PROCESS] = row[PROCESS];
	made[OUT_START] = row[TIME];
	made[OUT_END] = UNKNOWN;
	made[OUT_NAME] = row[NAME];
	made[OUT_DOMAIN] = row[DOMAIN];
	made[OUT_THREAD] = row[THREAD];
	made[OUT_END_THREAD] = place ? *place : 0;
	made[OUT_NUMBER] = row[NUMBER];
	made[OUT_RANGE] = row[EVENT] == NCCL_STARTS;
	if (place)
		*place = (uint32_t)out->n;
	if (row[TIME] == UNKNOWN)
		return 0;
	last = ITEM_OF(spans->lasts, 2, ((int64_t[]){row[PROCESS], row[THREAD]}));
	if (!last)
		return -ENOMEM;
	*last = row[TIME];
	return 0;
}

static int end_none(struct spans *spans, const int64_t *row)
{
	size_t known = spans->loose.ids.n;
	int64_t *thread = ITEM_OF(spans->loose, 2, ((int64_t[]){row[PROCESS], row[NUMBER]}));

	if (!thread)
		return -ENOMEM;
	if (spans->loose.ids.n > known || row[THREAD] > *thread)
		*thread = row[THREAD];
	return 0;
}

/* All that are open of a number end at the first end after them. */
static int end(struct spans *spans, const int64_t *row, uint32_t *place, struct table *out)
{
	int64_t at = *place;

	if (!at)
		return end_none(spans, row);
	while (at && at != ENDED) {
		int64_t *open = out->rows + ((size_t)at - 1) * N_OUT;

		at = open[OUT_END_THREAD];
		open[OUT_END] = row[TIME];
		open[OUT_END_THREAD] = row[THREAD];
	}
	*place = ENDED;
	return 0;
}

static int spans_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct spans *spans = state;
	bool is_known = row[PROCESS] != UNKNOWN && row[NUMBER] != UNKNOWN;
	uint32_t *place;

	if (row[EVENT] != ENDS) {
		spans->n_starts++;
		spans->n_untimed += !input;
	}
	if (!is_known || !input) {
		if (row[EVENT] != ENDS)
			return start(spans, row, NULL, out);
		return is_known ? end_none(spans, row) : 0;
	}
	place = ENTRY_OF(spans->rows, row[PROCESS], row[NUMBER]);
	if (!place)
		return -ENOMEM;
	if (are_sparse(&spans->rows.ids, LEAST_NUMBERS, spans->n_starts))
		return -E2BIG;
	return row[EVENT] == ENDS ? end(spans, row, place, out) : start(spans, row, place, out);
}

/* What OUT_END_THREAD of a row without an end says in the end: whether others of its number have one. */
static int64_t others_ended(struct spans *spans, const int64_t *row, const struct table *out)
{
	const uint32_t *place = row[OUT_START] == UNKNOWN
					? FIND_ENTRY(spans->rows, row[OUT_PROCESS], row[OUT_NUMBER])
					: NULL;
	int64_t at = place ? *place : row[OUT_END_THREAD];

	return at && at != ENDED ? out->rows[(at - 1) * N_OUT + OUT_END_THREAD] : at;
}

static bool was_left(struct spans *spans, const int64_t *row)
{
	int64_t number = ids_find(&spans->lasts.ids, (int64_t[]){row[OUT_PROCESS], row[OUT_THREAD]});

	return row[OUT_RANGE] && row[OUT_PROCESS] != UNKNOWN && row[OUT_THREAD] != UNKNOWN &&
	       row[OUT_START] != UNKNOWN && number >= 0 && row[OUT_START] < spans->lasts.all[number];
}

/* One whose number has no other end has that before its start; what NCCL did not end is left out. */
static void finish_open(struct spans *spans, struct table *out)
{
	size_t kept = 0;

	for (size_t i = spans->n_untimed; i < out->n; i++) {
		int64_t *row = out->rows + i * N_OUT;

		if (row[OUT_END] == UNKNOWN)
			row[OUT_END_THREAD] = others_ended(spans, row, out);
	}
	for (size_t i = 0; i < out->n; i++) {
		int64_t *row = out->rows + i * N_OUT, number = -1;

		if (row[OUT_END] == UNKNOWN) {
			if (was_left(spans, row))
				continue;
			if (!others_ended(spans, row, out))
				number = ids_find(&spans->loose.ids,
						  (int64_t[]){row[OUT_PROCESS], row[OUT_NUMBER]});
			row[OUT_END] = number < 0 ? UNKNOWN : row[OUT_START];
			row[OUT_END_THREAD] = number < 0 ? UNKNOWN : spans->loose.all[number];
		}
		memmove(out->rows + kept++ * N_OUT, row, N_OUT * sizeof *row);
	}
	out->n = kept;
}

static int compare_at_once(const void *a, const void *b)
{
	static const int by[] = {OUT_NUMBER, OUT_THREAD, OUT_DOMAIN, OUT_NAME};
	const int64_t *one = *(int64_t *const *)a, *other = *(int64_t *const *)b;
	int order = 0;

	for (size_t i = 0; !order && i < sizeof by / sizeof *by; i++)
		order = compare_known(one[by[i]], other[by[i]]);
	return order;
}

static int compare_owners(const void *a, const void *b)
{
	return compare_known(((const struct owner *)a)->process, ((const struct owner *)b)->process);
}

/* Where the rows of each process begin, in the order of processes; -ENOMEM. */
static int count_owners(struct spans *spans, const struct table *out)
{
	struct owner *sorted, *owner;
	size_t n = 0, from = 0;

	for (size_t i = 0; i < out->n; i++) {
		owner = ITEM_OF(spans->owners, 1, out->rows + i * N_OUT);
		if (!owner)
			return -ENOMEM;
		owner->n++;
		owner->process = out->rows[i * N_OUT];
	}
	n = spans->owners.ids.n;
	sorted = malloc(n * sizeof *sorted);
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, spans->owners.all, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, compare_owners);
	for (size_t i = 0; i < n; i++) {
		owner = &spans->owners.all[ids_find(&spans->owners.ids, &sorted[i].process)];
		owner->from = from;
		from += owner->n;
	}
	free(sorted);
	return 0;
}

/* Rows that are in the order of their places are put in that of their numbers. */
static int order_at_once(int64_t **rows, size_t n)
{
	int64_t (*sorted)[N_OUT] = malloc(n * sizeof *sorted), **order = malloc(n * sizeof *order);
	bool has_room = sorted && order;

	if (has_room) {
		memcpy(order, rows, n * sizeof *order);
		qsort(order, n, sizeof *order, compare_at_once);
		for (size_t i = 0; i < n; i++)
			memcpy(sorted[i], order[i], sizeof *sorted);
		for (size_t i = 0; i < n; i++)
			memcpy(rows[i], sorted[i], sizeof *sorted);
	}
	free(sorted);
	free(order);
	return has_room ? 0 : -ENOMEM;
}

/* Rows are numbered by process and start, those without a start last, and what began at once by the
 * rest. */
static int number(struct spans *spans, struct table *out, int64_t **order)
{
	if (count_owners(spans, out))
		return -ENOMEM;
	for (size_t i = 0; i < out->n; i++) {
		int64_t *row = out->rows + (spans->n_untimed + i) % out->n * N_OUT;
		struct owner *owner = ITEM_OF(spans->owners, 1, row);

		if (!owner)
			return -ENOMEM;
		order[owner->from++] = row;
	}
	for (size_t i = 0, n; i < out->n; i += n) {
		n = 1;
		while (i + n < out->n && order[i + n][OUT_PROCESS] == order[i][OUT_PROCESS] &&
		       order[i + n][OUT_START] == order[i][OUT_START])
			n++;
		if (n > 1 && order_at_once(order + i, n))
			return -ENOMEM;
	}
	for (size_t i = 0; i < out->n; i++)
		order[i][OUT_RANGE] = (int64_t)i + 1;
	return 0;
}

static int spans_finish(void *state, struct table *out)
{
	struct spans *spans = state;
	int64_t **order;
	int result;

	finish_open(spans, out);
	if (!out->n)
		return 0;
	order = malloc(out->n * sizeof *order);
	result = order ? number(spans, out, order) : -ENOMEM;
	free(order);
	return result;
}

static void spans_free(void *state)
{
	struct spans *spans = state;

	FREE_ITEMS(spans->rows);
	FREE_ITEMS(spans->lasts);
	FREE_ITEMS(spans->loose);
	FREE_ITEMS(spans->owners);
}

const struct operator_kind span_operator = {
	.name = "span",
	.widths = {N_FIELDS, N_FIELDS},
	.ordered = 1 << 1,
	.keys = 2,
	.out_widths = {N_OUT},
	.state_bytes = sizeof(struct spans),
	.row = spans_row,
	.finish = spans_finish,
	.free = spans_free,
};

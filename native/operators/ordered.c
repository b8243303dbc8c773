/* A merge sort that begins with the runs that are there: parts of a trace are sorted.  A few runs
 * are merged while they are read, and no row is moved. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/grow.h"
#include "operators/operator.h"
#include "operators/ordered.h"

#define FEW_RUNS 64
#define FEW_TIES 16

static bool is_before(const int64_t *a, const int64_t *b, unsigned width)
{
	return a[0] != b[0] ? a[0] < b[0] : width > 1 && a[1] < b[1];
}

/* Rows of `left` and `right`, each in order, into `to`; of equals the left one comes first. */
static void merge(int64_t *to, const int64_t *left, const int64_t *middle, const int64_t *right,
		  const int64_t *end, unsigned width)
{
	while (left < middle && right < end) {
		const int64_t **from = is_before(right, left, width) ? &right : &left;

		memcpy(to, *from, width * sizeof *to);
		to += width;
		*from += width;
	}
	memcpy(to, left, (size_t)(middle - left) * sizeof *to);
	to += middle - left;
	memcpy(to, right, (size_t)(end - right) * sizeof *to);
}

/* Puts the last of the rows of a run in its place, if that is among those of the same start. */
static bool put_in_place(int64_t *rows, size_t first, size_t at, unsigned width)
{
	int64_t row[MAX_WIDTH];
	size_t to = at;

	while (to > first && at - to < FEW_TIES &&
	       is_before(rows + at * width, rows + (to - 1) * width, width))
		to--;
	if (to > first && is_before(rows + at * width, rows + (to - 1) * width, width))
		return false;
	if (rows[to * width] != rows[at * width])
		return false;
	memcpy(row, rows + at * width, width * sizeof *row);
	memmove(rows + (to + 1) * width, rows + to * width, (at - to) * width * sizeof *row);
	memcpy(rows + to * width, row, width * sizeof *row);
	return true;
}

/* Where each run begins, and n at the end; returns how many runs, -ENOMEM.  Rows that start at
 * one moment are often in no order, and make no run. */
static int64_t find_runs(int64_t *rows, size_t n, unsigned width, size_t **out)
{
	size_t n_runs = 0, capacity = 0, *starts = NULL;

	for (size_t i = 0; i <= n; i++) {
		if (i > 0 && i < n &&
		    (!is_before(rows + i * width, rows + (i - 1) * width, width) ||
		     put_in_place(rows, starts[n_runs - 1], i, width)))
			continue;
		if (GROW(starts, n_runs, capacity)) {
			free(starts);
			return -ENOMEM;
		}
		starts[n_runs++] = i;
	}
	*out = starts;
	return (int64_t)n_runs - 1;
}

/* Merges runs until one is left. */
static int merge_runs(int64_t *rows, size_t n, unsigned width, size_t *starts, int64_t n_runs)
{
	int64_t *from = rows, *to, *spare;

	if (n_runs <= 1)
		return 0;
	spare = to = malloc(n * width * sizeof *to);
	if (!spare)
		return -ENOMEM;
	while (n_runs > 1) {
		int64_t *swapped = from;
		int64_t merged = 0;

		for (int64_t i = 0; i < n_runs; i += 2) {
			size_t left = starts[i] * width;
			size_t middle = starts[i + 1] * width;
			size_t end = (i + 2 <= n_runs ? starts[i + 2] : n) * width;

			merge(to + left, from + left, from + middle, from + middle, from + end,
			      width);
			starts[merged++] = starts[i];
		}
		starts[merged] = n;
		n_runs = merged;
		from = to;
		to = swapped;
	}
	if (from != rows)
		memcpy(rows, from, n * width * sizeof *rows);
	free(spare);
	return 0;
}

int sort_rows(int64_t *rows, size_t n, unsigned width)
{
	size_t *starts = NULL;
	int64_t n_runs = n > 1 ? find_runs(rows, n, width, &starts) : 0;
	int result = n_runs < 0 ? (int)n_runs : merge_runs(rows, n, width, starts, n_runs);

	free(starts);
	return result;
}

struct run {
	const int64_t *at, *end;
};

/* Reads a few runs as one. */
static int read_runs(struct run *runs, size_t n_runs, unsigned width, row_reader *read, void *data)
{
	while (n_runs > 0) {
		const int64_t *limit = NULL; /* where the next run goes on */
		struct run *first = &runs[0];
		int result = 0;

		for (size_t i = 1; i < n_runs; i++) {
			const int64_t *other = runs[i].at;

			if (is_before(runs[i].at, first->at, width)) {
				other = first->at;
				first = &runs[i];
			}
			if (!limit || is_before(other, limit, width))
				limit = other;
		}
		do {
			result = read(data, first->at);
			first->at += width;
		} while (!result && first->at < first->end &&
			 (!limit || !is_before(limit, first->at, width)));
		if (result)
			return result;
		if (first->at == first->end)
			*first = runs[--n_runs];
	}
	return 0;
}

int read_in_order(int64_t *rows, size_t n, unsigned width, row_reader *read, void *data)
{
	struct run runs[FEW_RUNS];
	size_t *starts = NULL;
	int64_t n_runs = n ? find_runs(rows, n, width, &starts) : 0;
	int result = n_runs < 0 ? (int)n_runs : 0;

	if (n_runs > FEW_RUNS) {
		result = merge_runs(rows, n, width, starts, n_runs);
		starts[1] = n;
		n_runs = 1;
	}
	for (int64_t i = 0; i < n_runs; i++)
		runs[i] = (struct run){rows + starts[i] * width, rows + starts[i + 1] * width};
	if (!result && n_runs > 0)
		result = read_runs(runs, (size_t)n_runs, width, read, data);
	free(starts);
	return result;
}

/* Parts of a trace are sorted: the few runs that they make are merged while they are read, and no row
 * is moved.  Others are sorted digit by digit, in time that is linear in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/grow.h"
#include "operators/operator.h"
#include "operators/ordered.h"

#define FEW_RUNS 64
#define FEW_TIES 16

static bool is_before(const int64_t *a, const int64_t *b, unsigned keys)
{
	unsigned i = 0;

	while (i + 1 < keys && a[i] == b[i])
		i++;
	return a[i] < b[i];
}

/* Puts the last of the rows of a run in its place, if that is among those of the same start. */
static bool put_in_place(int64_t *rows, size_t first, size_t at, unsigned width, unsigned keys)
{
	int64_t row[MAX_WIDTH];
	size_t to = at;

	while (to > first && at - to < FEW_TIES &&
	       is_before(rows + at * width, rows + (to - 1) * width, keys))
		to--;
	if (to > first && is_before(rows + at * width, rows + (to - 1) * width, keys))
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
static int64_t find_runs(int64_t *rows, size_t n, unsigned width, unsigned keys, size_t **out)
{
	size_t n_runs = 0, capacity = 0, *starts = NULL;

	for (size_t i = 0; i <= n; i++) {
		if (i > 0 && i < n &&
		    (!is_before(rows + i * width, rows + (i - 1) * width, keys) ||
		     put_in_place(rows, starts[n_runs - 1], i, width, keys)))
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

#define DIGIT_BITS 11

struct place {
	uint64_t key;
	size_t row;
};

/* Sorts by the key; what is equal stays in its order.  `spare` has room for as many. */
static void sort_places(struct place **places, struct place **spare, size_t n)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < n; i++) {
		least = (*places)[i].key < least ? (*places)[i].key : least;
		most = (*places)[i].key > most ? (*places)[i].key : most;
	}
	for (unsigned shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT_BITS) {
		size_t ends[(1 << DIGIT_BITS) + 1] = {0};
		struct place *from = *places;

		for (size_t i = 0; i < n; i++)
			ends[((from[i].key - least) >> shift & ((1 << DIGIT_BITS) - 1)) + 1]++;
		for (size_t digit = 0; digit < 1 << DIGIT_BITS; digit++)
			ends[digit + 1] += ends[digit];
		for (size_t i = 0; i < n; i++)
			(*spare)[ends[(from[i].key - least) >> shift & ((1 << DIGIT_BITS) - 1)]++] = from[i];
		*places = *spare;
		*spare = from;
	}
}

/* The rows in order; -ENOMEM. */
static int find_order(const int64_t *rows, size_t n, unsigned width, unsigned keys, struct place **out)
{
	struct place *places = malloc(n * sizeof *places), *spare = malloc(n * sizeof *spare);

	if (!places || !spare) {
		free(places);
		free(spare);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		places[i].row = i;
	for (unsigned column = keys; column-- > 0;) {
		/* Numbers below zero come first. */
		for (size_t i = 0; i < n; i++)
			places[i].key = (uint64_t)rows[places[i].row * width + column] ^ UINT64_C(1) << 63;
		sort_places(&places, &spare, n);
	}
	free(spare);
	*out = places;
	return 0;
}

int sort_numbers(int64_t *numbers, size_t n)
{
	struct place *order;
	int result = n > 1 ? find_order(numbers, n, 1, 1, &order) : 0;

	if (result || n < 2)
		return result;
	for (size_t i = 0; i < n; i++)
		numbers[i] = (int64_t)(order[i].key ^ UINT64_C(1) << 63);
	free(order);
	return 0;
}

static int read_sorted(const int64_t *rows, size_t n, unsigned width, unsigned keys, row_reader *read,
		       void *data)
{
	struct place *order;
	int result = find_order(rows, n, width, keys, &order);

	if (result)
		return result;
	for (size_t i = 0; !result && i < n; i++)
		result = read(data, rows + order[i].row * width);
	free(order);
	return result;
}

struct run {
	const int64_t *at, *end;
};

/* Reads a few runs as one. */
static int read_runs(struct run *runs, size_t n_runs, unsigned width, unsigned keys, row_reader *read,
		     void *data)
{
	while (n_runs > 0) {
		const int64_t *limit = NULL; /* where the next run goes on */
		struct run *first = &runs[0];
		int result = 0;

		for (size_t i = 1; i < n_runs; i++) {
			const int64_t *other = runs[i].at;

			if (is_before(runs[i].at, first->at, keys)) {
				other = first->at;
				first = &runs[i];
			}
			if (!limit || is_before(other, limit, keys))
				limit = other;
		}
		do {
			result = read(data, first->at);
			first->at += width;
		} while (!result && first->at < first->end &&
			 (!limit || !is_before(limit, first->at, keys)));
		if (result)
			return result;
		if (first->at == first->end)
			*first = runs[--n_runs];
	}
	return 0;
}

int read_in_order(int64_t *rows, size_t n, unsigned width, unsigned keys, row_reader *read, void *data)
{
	struct run runs[FEW_RUNS];
	size_t *starts = NULL;
	int64_t n_runs = n ? find_runs(rows, n, width, keys, &starts) : 0;
	int result = n_runs < 0 ? (int)n_runs : 0;

	if (n_runs > FEW_RUNS) {
		free(starts);
		return read_sorted(rows, n, width, keys, read, data);
	}
	for (int64_t i = 0; i < n_runs; i++)
		runs[i] = (struct run){rows + starts[i] * width, rows + starts[i + 1] * width};
	if (!result && n_runs > 0)
		result = read_runs(runs, (size_t)n_runs, width, keys, read, data);
	free(starts);
	return result;
}

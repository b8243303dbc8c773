/* What is around ranges that cross, against a search through all of them. */
#include <string.h>

#include "check.h"
#include "operators/operator.h"

#define MOST 60
#define MOST_NS 80

static uint64_t luck = 11;

static int64_t below(int64_t n)
{
	return (int64_t)(random_next(&luck) % (uint64_t)n);
}

struct range {
	int64_t thread, start, until;
};

/* By start, of those that begin at once the longer first. */
static int compare(const void *a, const void *b)
{
	const struct range *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return one->until > other->until ? -1 : one->until < other->until;
}

/* The last range before `at` of the thread that began by then and lasts long enough. */
static int64_t find(const struct range *ranges, int64_t at, int64_t thread, int64_t by, int64_t until)
{
	while (at-- > 0) {
		if (ranges[at].thread == thread && ranges[at].start <= by &&
		    ranges[at].until >= until)
			return at;
	}
	return UNKNOWN;
}

static void check_ranges(const struct table *rows, const struct range *ranges, int64_t n)
{
	CHECK(rows->n == (size_t)n);
	for (int64_t i = 0; i < n; i++) {
		const int64_t *row = rows->rows + rows->width * (size_t)i;
		int64_t around = find(ranges, i, ranges[i].thread, ranges[i].start, ranges[i].until);
		const int64_t *other = around == UNKNOWN ? NULL
							 : rows->rows + rows->width * (size_t)around;

		CHECK(row[0] == i && row[1] == around);
		CHECK(row[2] == (other ? other[2] + 1 : 0));
		CHECK(row[4] <= i); /* the first of those that are alike */
		CHECK(rows->rows[rows->width * (size_t)row[4] + 4] == row[4]);
	}
}

/* Whether a range that lasts begins or ends then, and which is the innermost from then on. */
static bool is_turn(const struct range *ranges, int64_t n, int64_t thread, int64_t at, int64_t *range)
{
	bool is_one = false, is_begin = false;

	*range = find(ranges, n, thread, at, at + 1);
	for (int64_t i = 0; i < n; i++) {
		if (ranges[i].thread != thread || ranges[i].until <= ranges[i].start)
			continue;
		is_one = is_one || ranges[i].start == at || ranges[i].until == at;
		if (ranges[i].start == at) {
			is_begin = true;
			*range = i;
		}
	}
	return is_one || is_begin;
}

static void check_turns(const struct table *rows, const struct range *ranges, int64_t n)
{
	size_t found = 0;

	for (int64_t thread = 0; thread < 3; thread++) {
		const int64_t *row = rows->rows, *end = row + rows->width * rows->n;

		for (int64_t at = 0; at < MOST_NS; at++) {
			int64_t range;

			if (!is_turn(ranges, n, thread, at, &range))
				continue;
			while (row < end && row[1] != thread)
				row += rows->width;
			CHECK(row < end && row[2] == at && row[3] == range);
			row += rows->width;
			found++;
		}
	}
	CHECK(found == rows->n);
}

static void check_nesting(void)
{
	struct table out[3] = {{.width = nesting_operator.out_widths[0]},
			       {.width = nesting_operator.out_widths[1]},
			       {.width = nesting_operator.out_widths[2]}};
	void *state = calloc(1, nesting_operator.state_bytes);
	int64_t n = below(MOST), span = 1 + below(40);
	struct range ranges[MOST];

	for (int64_t i = 0; i < n; i++) {
		int64_t start = below(span);

		ranges[i] = (struct range){below(3), start,
					   below(9) ? start + below(span) : INT64_MAX};
	}
	qsort(ranges, (size_t)n, sizeof *ranges, compare);
	for (int64_t i = 0; i < n; i++) {
		int64_t end = ranges[i].until == INT64_MAX ? UNKNOWN : -ranges[i].until;
		int64_t row[] = {ranges[i].start, end, i, 7, ranges[i].thread, below(3), below(3)};

		CHECK(nesting_operator.row(state, 0, row, out) == 0);
	}
	CHECK(nesting_operator.finish(state, out) == 0);
	check_ranges(&out[0], ranges, n);
	CHECK(out[1].n <= (size_t)n);
	check_turns(&out[2], ranges, n);
	nesting_operator.free(state);
	free(state);
	for (int i = 0; i < 3; i++)
		table_free(&out[i]);
}

int main(void)
{
	for (int times = 0; times < 3000; times++)
		check_nesting();
	return 0;
}

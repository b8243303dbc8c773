/* What is around ranges that cross, against a search through all of them. */
#include <string.h>

#include "check.h"
#include "operators/operator.h"

#define MOST 60

static uint64_t luck = 11;

static int64_t below(int64_t n)
{
	return (int64_t)(random_next(&luck) % (uint64_t)n);
}

struct range {
	int64_t thread, start, until;
};

/* By thread and start, of those that begin at once the longer first. */
static int compare(const void *a, const void *b)
{
	const struct range *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
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

static void check_rows(const struct table *rows, const struct range *ranges, int64_t n)
{
	int64_t begins = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const int64_t *row = rows->rows + rows->width * i;
		bool is_begin = row[4] != UNKNOWN;

		CHECK(!is_begin || row[4] == begins++);
		CHECK(row[5] == (is_begin ? find(ranges, row[4], ranges[row[4]].thread,
						 ranges[row[4]].start, ranges[row[4]].until)
					  : find(ranges, n, row[1], row[2], row[2] + 1)));
		CHECK(is_begin || i == 0 || row[1] != row[1 - (int)rows->width] ||
		      row[2] >= row[2 - (int)rows->width]);
	}
	CHECK(begins == n);
}

static void check_nesting(void)
{
	struct table out[2] = {{.width = nesting_operator.out_widths[0]},
			       {.width = nesting_operator.out_widths[1]}};
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
		int64_t end = ranges[i].until == INT64_MAX ? UNKNOWN : ranges[i].until;

		CHECK(nesting_operator.row(state, 0, (int64_t[]){7, ranges[i].thread, ranges[i].start,
							      end, i, below(3)}, out) == 0);
	}
	CHECK(nesting_operator.finish(state, out) == 0);
	check_rows(&out[0], ranges, n);
	CHECK(out[1].n <= (size_t)n);
	nesting_operator.free(state);
	free(state);
	table_free(&out[0]);
	table_free(&out[1]);
}

int main(void)
{
	for (int times = 0; times < 3000; times++)
		check_nesting();
	return 0;
}

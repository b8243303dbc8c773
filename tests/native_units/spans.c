/* Starts of ranges and their ends, against a search through all of them. */
#include <string.h>

#include "check.h"
#include "operators/operator.h"

#define MOST 40

static uint64_t luck = 5;

static int64_t below(int64_t n)
{
	return (int64_t)(random_next(&luck) % (uint64_t)n);
}

struct marker {
	int64_t time, event, process, number, thread, domain, name;
};

enum { NCCL_STARTS, STARTS, ENDS };
enum { OUT_PROCESS, OUT_START, OUT_END, OUT_NAME, OUT_DOMAIN, OUT_THREAD, OUT_END_THREAD, OUT_NUMBER,
       OUT_RANGE, N_OUT };

static bool is_one(const struct marker *a, const struct marker *b)
{
	return a->process == b->process && a->number == b->number && a->process != UNKNOWN &&
	       a->number != UNKNOWN;
}

/* The first end of a range, or NULL. */
static const struct marker *end_of(const struct marker *markers, int64_t n, const struct marker *start)
{
	const struct marker *first = NULL;

	for (int64_t i = 0; i < n && start->time != UNKNOWN; i++) {
		const struct marker *end = markers + i;

		if (end->event == ENDS && end->time != UNKNOWN && end->time >= start->time &&
		    is_one(end, start) && (!first || end->time < first->time))
			first = end;
	}
	return first;
}

/* Whether no range of its number has an end, though there are ends; and their greatest thread. */
static bool is_early(const struct marker *markers, int64_t n, const struct marker *start, int64_t *thread)
{
	bool is_any = false;

	*thread = UNKNOWN;
	for (int64_t i = 0; i < n; i++) {
		if (!is_one(markers + i, start))
			continue;
		if (markers[i].event != ENDS && end_of(markers, n, markers + i))
			return false;
		if (markers[i].event != ENDS)
			continue;
		is_any = true;
		*thread = markers[i].thread > *thread ? markers[i].thread : *thread;
	}
	return is_any;
}

static bool is_left(const struct marker *markers, int64_t n, const struct marker *start)
{
	if (start->event != NCCL_STARTS || start->time == UNKNOWN || start->thread == UNKNOWN ||
	    start->process == UNKNOWN || end_of(markers, n, start))
		return false;
	for (int64_t i = 0; i < n; i++) {
		if (markers[i].event != ENDS && markers[i].process == start->process &&
		    markers[i].thread == start->thread && markers[i].time > start->time)
			return true;
	}
	return false;
}

static void check_row(const int64_t *row, const struct marker *markers, int64_t n, const struct marker *start)
{
	const struct marker *end = end_of(markers, n, start);
	int64_t thread;

	CHECK(row[OUT_PROCESS] == start->process && row[OUT_NUMBER] == start->number);
	CHECK(row[OUT_START] == start->time && row[OUT_DOMAIN] == start->domain);
	CHECK(row[OUT_THREAD] == start->thread);
	if (end) {
		CHECK(row[OUT_END] == end->time && row[OUT_END_THREAD] == end->thread);
	} else if (is_early(markers, n, start, &thread)) {
		CHECK(row[OUT_END] == start->time && row[OUT_END_THREAD] == thread);
	} else {
		CHECK(row[OUT_END] == UNKNOWN && row[OUT_END_THREAD] == UNKNOWN);
	}
}

static int64_t last_if_unknown(int64_t value)
{
	return value == UNKNOWN ? INT64_MAX : value;
}

/* By process, start and number, what is not known last. */
static bool is_after(const int64_t *row, const int64_t *before)
{
	static const int by[] = {OUT_PROCESS, OUT_START, OUT_NUMBER};

	for (int i = 0; i < 3; i++) {
		if (row[by[i]] != before[by[i]])
			return last_if_unknown(row[by[i]]) > last_if_unknown(before[by[i]]);
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct marker *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->event < other->event ? -1 : one->event > other->event;
}

static void check_spans(void)
{
	struct table out = {.width = span_operator.out_widths[0]};
	void *state = calloc(1, span_operator.state_bytes);
	int64_t n = below(MOST), times = 1 + below(60), numbers = 1 + below(20), kept = 0;
	struct marker markers[MOST];
	const int64_t *of_range[MOST + 1] = {0};

	for (int64_t i = 0; i < n; i++) {
		bool is_end = below(2);

		/* No two ends of a number at once, of which either may be meant; names tell rows. */
		markers[i] = (struct marker){below(12) ? (is_end ? MOST * below(times) + i : MOST * below(times))
						       : UNKNOWN,
					     is_end ? ENDS : below(2),
					     below(9) ? 1 + below(2) : UNKNOWN,
					     below(9) ? below(numbers) * 3000 : UNKNOWN,
					     below(9) ? below(3) : UNKNOWN,
					     below(2),
					     i};
	}
	qsort(markers, (size_t)n, sizeof *markers, compare);
	for (int64_t i = 0; i < n; i++)
		CHECK(span_operator.row(state, markers[i].time != UNKNOWN, (const int64_t *)&markers[i],
					&out) == 0);
	CHECK(span_operator.finish(state, &out) == 0);
	for (size_t i = 0; i < out.n; i++) {
		const int64_t *row = out.rows + i * N_OUT;

		CHECK(row[OUT_RANGE] >= 1 && row[OUT_RANGE] <= (int64_t)out.n && !of_range[row[OUT_RANGE]]);
		of_range[row[OUT_RANGE]] = row;
	}
	for (size_t i = 1; i < out.n; i++)
		CHECK(is_after(of_range[i + 1], of_range[i]));
	for (int64_t i = 0; i < n; i++) {
		size_t at = 0;

		if (markers[i].event == ENDS || is_left(markers, n, markers + i))
			continue;
		while (at < out.n && out.rows[at * N_OUT + OUT_NAME] != markers[i].name)
			at++;
		CHECK(at < out.n);
		check_row(out.rows + at * N_OUT, markers, n, markers + i);
		kept++;
	}
	CHECK(out.n == (size_t)kept);
	span_operator.free(state);
	free(state);
	table_free(&out);
}

/* Numbers that are too far apart take another way. */
static void check_far(void)
{
	struct table out = {.width = span_operator.out_widths[0]};
	void *state = calloc(1, span_operator.state_bytes);
	int result = 0;

	for (int64_t i = 0; !result && i < 10000; i++)
		result = span_operator.row(state, 1, (const int64_t[]){i, STARTS, 1, i << 20, 1, 1, 1}, &out);
	CHECK(result == -E2BIG);
	span_operator.free(state);
	free(state);
	table_free(&out);
}

int main(void)
{
	for (int times = 0; times < 20000; times++)
		check_spans();
	check_far();
	return 0;
}

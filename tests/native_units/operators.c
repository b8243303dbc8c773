/* The operators against answers that are found by looking at every moment. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "operator_rows.h"
#include "operators/calls.h"
#include "operators/operator.h"
#include "operators/ordered.h"
#include "operators/quantile.h"

#define SPAN 60 /* moments */
#define MOST 300
#ifndef TIMES
#define TIMES 300
#endif

struct act {
	int64_t start, end, gpu, category;
};

struct work {
	int64_t start, end, gpu, process, context, stream, is_kernel;
};

static uint64_t luck = 7;

static int64_t below(int64_t n)
{
	return (int64_t)(random_next(&luck) % (uint64_t)n);
}

/* ---- the order of rows */

static int is_in_order(void *data, const int64_t *row)
{
	int64_t *last = data;

	CHECK(last[0] < row[0] || (last[0] == row[0] && last[1] <= row[1]));
	memcpy(last, row, 2 * sizeof *last);
	last[2] += row[2];
	last[3]++;
	return 0;
}

static void check_order(int64_t times)
{
	int64_t rows[MOST][3], n = below(MOST), sum = 0, last[4] = {INT64_MIN, 0, 0, 0};
	int64_t one[MOST];

	for (int64_t i = 0; i < n; i++) {
		/* Runs, ties and chance. */
		int64_t start = times < 3 ? below(3) : i % (1 + below(100));

		memcpy(rows[i], (int64_t[]){start, below(4), i}, sizeof rows[i]);
		one[i] = below(50);
		sum += i;
	}
	CHECK(read_in_order(rows[0], (size_t)n, 3, 2, is_in_order, last) == 0);
	CHECK(last[2] == sum && last[3] == n);
	CHECK(sort_numbers(one, (size_t)n) == 0);
	for (int64_t i = 1; i < n; i++)
		CHECK(one[i - 1] <= one[i]);
}

/* ---- busy */

static bool is_busy(const struct act *acts, int64_t n, int64_t gpu, int64_t set, int64_t moment)
{
	for (int64_t i = 0; i < n; i++) {
		if (acts[i].gpu == gpu && set >> acts[i].category & 1 &&
		    acts[i].start <= moment && moment < acts[i].end)
			return true;
	}
	return false;
}

static void give_half(struct etl_operator *operator, const struct act *acts, int64_t n, bool is_late)
{
	for (int64_t i = 0; i < n; i++) {
		if ((acts[i].start >= SPAN / 2) == is_late)
			give(operator, 0, &acts[i].start, 1, 4);
	}
}

static void check_busy(void)
{
	struct etl_operator *operator = etl_operator_new("busy");
	struct act acts[MOST];
	int64_t n = below(40), n_rows, *rows;
#ifdef PLANT_UNORDERED
	bool is_late = true;
#else
	bool is_late = false;
#endif

	for (int64_t i = 0; i < n; i++) {
		int64_t start = below(SPAN), length = below(8);

		acts[i] = (struct act){start, start + length, below(2), below(3)};
	}
	/* Two slices: the early ones first, which are read when the late ones are there. */
	give_half(operator, acts, n, is_late);
	etl_operator_cut(operator);
	give_half(operator, acts, n, !is_late);
	CHECK(etl_operator_slice(operator) == 0);
	CHECK(slice_rows(operator) == 0);
	CHECK(etl_operator_finish(operator) == 0);
	rows = take(operator, 1, 3, &n_rows);
	for (int64_t r = 0; r < n_rows; r++) {
		int64_t length = 0;

		for (int64_t moment = 0; moment < 2 * SPAN; moment++)
			length += is_busy(acts, n, rows[r * 3], rows[r * 3 + 1], moment);
		CHECK(rows[r * 3 + 2] == length);
	}
	free(rows);
	etl_operator_free(operator);
}

/* ---- streams */

static bool is_of(const struct work *work, const int64_t *stream)
{
	return memcmp(&work->gpu, stream, 4 * sizeof *stream) == 0;
}

static bool is_at_work(const struct work *works, int64_t n, const int64_t *stream, bool of_kernels,
		       int64_t moment)
{
	for (int64_t i = 0; i < n; i++) {
		if (is_of(&works[i], stream) && (works[i].is_kernel || !of_kernels) &&
		    works[i].start <= moment && moment < works[i].end)
			return true;
	}
	return false;
}

/* Kernels that run on the GPU then, and streams that run one. */
static void at_once(const struct work *works, int64_t n, const int64_t *streams, int64_t n_streams,
		    int64_t gpu, int64_t moment, int64_t *found)
{
	found[0] = found[1] = 0;
	for (int64_t i = 0; i < n; i++)
		found[0] += works[i].is_kernel && works[i].gpu == gpu &&
			    works[i].start <= moment && moment < works[i].end;
	for (int64_t i = 0; i < n_streams; i++)
		found[1] += streams[i * 6 + 1] == gpu &&
			    is_at_work(works, n, streams + i * 6 + 1, true, moment);
}

static void check_streams(void)
{
	struct etl_operator *operator = etl_operator_new("streams");
	int64_t n = below(40), n_streams, n_rows, total = 0, *streams, *rows;
	struct work works[MOST];

	for (int64_t i = 0; i < n; i++) {
		int64_t start = below(SPAN);

		works[i] = (struct work){start,	   start + below(8),		below(2), below(2),
					 below(2) ? 1 : UNKNOWN, below(2), below(3) > 0};
	}
	give(operator, 0, &works[0].start, n, 7);
	CHECK(slice_rows(operator) == 0);
	CHECK(etl_operator_finish(operator) == 0);
	streams = take(operator, 1, 6, &n_streams);
	for (int64_t s = 0; s < n_streams; s++) {
		const int64_t *one = streams + s * 6;
		int64_t busy = 0;

		for (int64_t moment = 0; moment < 2 * SPAN; moment++) {
			busy += is_at_work(works, n, one + 1, false, moment);
			for (int64_t other = s + 1; other < n_streams; other++)
				total += one[1] == streams[other * 6 + 1] &&
					 is_at_work(works, n, one + 1, false, moment) &&
					 is_at_work(works, n, streams + other * 6 + 1, false, moment);
		}
		CHECK(one[0] == s && one[5] == busy);
	}
	rows = take(operator, 2, 3, &n_rows);
	for (int64_t r = 0; r < n_rows; r++) {
		const int64_t *pair = rows + r * 3;
		int64_t together = 0;

		CHECK(pair[0] < pair[1] && streams[pair[0] * 6 + 1] == streams[pair[1] * 6 + 1]);
		for (int64_t moment = 0; moment < 2 * SPAN; moment++)
			together += is_at_work(works, n, streams + pair[0] * 6 + 1, false, moment) &&
				    is_at_work(works, n, streams + pair[1] * 6 + 1, false, moment);
		CHECK(pair[2] == together);
		total -= together;
	}
	CHECK(total == 0); /* no pair is left out */
	free(rows);
	rows = take(operator, 0, 4, &n_rows);
	for (int64_t r = 0; r < n_rows; r++) {
		int64_t first = INT64_MAX, last = INT64_MIN, length = 0, found[2];
		const int64_t *row = rows + r * 4;

		for (int64_t i = 0; i < n; i++) {
			if (works[i].gpu != row[0] || !works[i].is_kernel)
				continue;
			first = works[i].start < first ? works[i].start : first;
			last = works[i].end > last ? works[i].end : last;
		}
		for (int64_t moment = first; moment < last; moment++) {
			at_once(works, n, streams, n_streams, row[0], moment, found);
			length += found[0] == row[1] && found[1] == row[2];
		}
		CHECK(row[3] == length);
	}
	free(rows);
	free(streams);
	etl_operator_free(operator);
}

/* ---- calls: of those of an id that are in no other, the last that began by then */

static bool comes_first(const int64_t *a, const int64_t *b)
{
	if (a[CALL_START] != b[CALL_START])
		return a[CALL_START] < b[CALL_START];
	if (a[CALL_END] != b[CALL_END])
		return a[CALL_END] == UNKNOWN ? false
					      : b[CALL_END] == UNKNOWN || a[CALL_END] > b[CALL_END];
	return a[CALL_IS_RUNTIME] > b[CALL_IS_RUNTIME];
}

static int64_t until(const int64_t *call)
{
	return call[CALL_END] == UNKNOWN ? call[CALL_START] : call[CALL_END];
}

static const int64_t *right_call(int64_t (*calls)[CALL_FIELDS], int64_t n, int64_t id, int64_t start)
{
	const int64_t *found = NULL;
	int64_t of_id = 0;

	for (int64_t i = 0; i < n; i++)
		of_id += calls[i][CALL_CORRELATION] == id;
	for (int64_t i = 0; i < n; i++) {
		bool is_inside = false;

		if (calls[i][CALL_CORRELATION] != id)
			continue;
		if (of_id == 1)
			return calls[i];
		for (int64_t k = 0; k < n; k++)
			is_inside |= calls[k][CALL_CORRELATION] == id && k != i &&
				     comes_first(calls[k], calls[i]) &&
				     calls[i][CALL_START] <= until(calls[k]);
		if (!is_inside && calls[i][CALL_START] <= start &&
		    (!found || found[CALL_START] < calls[i][CALL_START]))
			found = calls[i];
	}
	return found;
}

static void check_calls(void)
{
	int64_t rows[MOST][CALL_FIELDS], n = below(40);
	struct calls calls = {0};

	for (int64_t i = 0; i < n; i++) {
		int64_t start = below(SPAN);

		/* Names tell calls apart that are alike in all that matters. */
		memcpy(rows[i],
		       (int64_t[]){1, below(20) * 200, start,
				   below(9) ? start + below(20) : UNKNOWN, 1000 + i, below(2),
				   below(2)},
		       sizeof rows[i]);
		for (int64_t k = 0; k < i; k++)
			if (!comes_first(rows[k], rows[i]) && !comes_first(rows[i], rows[k]))
				memcpy(&rows[i][CALL_NAME], &rows[k][CALL_NAME],
				       (CALL_FIELDS - CALL_NAME) * sizeof **rows);
		CHECK(calls_add(&calls, rows[i]) == 0);
	}
	for (int64_t id = 0; id < 20 * 200; id += 200) {
		for (int64_t start = 0; start < SPAN; start += 7) {
			const int64_t *wanted = right_call(rows, n, id, start);
			struct call call;

			if (wanted && n > 0) {
				CHECK(calls_find(&calls, 1, id, start, &call));
				CHECK(call.start == wanted[CALL_START]);
				CHECK(call.end == wanted[CALL_END]);
				CHECK(call.is_graph == wanted[CALL_IS_GRAPH]);
			}
			CHECK(!calls_find(&calls, 2, id, start, &call));
		}
	}
	calls_free(&calls);
}

static void check_quantiles(void)
{
	int64_t values[MOST], sorted[MOST], n = 1 + below(MOST - 1);

	for (int64_t i = 0; i < n; i++)
		values[i] = below(5) ? below(100) : below(3) * 5000000000 - 5000000000;
	memcpy(sorted, values, sizeof values);
	CHECK(sort_numbers(sorted, (size_t)n) == 0);
	CHECK(quantile(values, (size_t)n, 0) == (double)sorted[0]);
	CHECK(quantile(values, (size_t)n, 1) == (double)sorted[n - 1]);
	CHECK(quantile(values, (size_t)n, 0.5) ==
	      ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]) / 2);
}

/* What is no row of the operator is refused. */
static void check_refusals(void)
{
	struct etl_operator *operator = etl_operator_new("busy");
	struct ArrowArray batch = {.length = 1, .n_children = 3};

	CHECK(operator && !etl_operator_new("no such operator"));
	CHECK(etl_operator_add(operator, 0, &batch) == -EINVAL);
	CHECK(etl_operator_add(operator, 1, &batch) == -EINVAL);
	give(operator, 0, (int64_t[]){1, 2, 0, 9}, 1, 4);
	CHECK(slice_rows(operator) == -EINVAL);
	CHECK(etl_operator_take(operator, 9, 1, &batch) == -EINVAL);
	etl_operator_free(operator);
	etl_operator_free(NULL);
}

int main(void)
{
	for (int64_t times = 0; times < TIMES; times++) {
		check_order(times % 10);
		check_busy();
		check_streams();
		check_calls();
		check_quantiles();
	}
	check_refusals();
	return 0;
}

/* _kernel_trend: how steadily each kernel of a GPU comes, over all its executions in order.
 *
 * Rows: start, end (never before it), GPU, a number that stands for the name. */
#include <errno.h>
#include <stdlib.h>

#include "arrow/ids.h"
#include "operators/operator.h"
#include "operators/series.h"

struct kernel {
	int64_t *starts;
	int64_t *durations;
	size_t n, starts_capacity, durations_capacity;
};

struct trend {
	struct ids ids;
	struct kernel *kernels;
	size_t n_kernels, capacity;
};

static int trend_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct trend *trend = state;
	struct kernel *kernel;
	int64_t number;

	(void)input;
	(void)out;
	trend->ids.width = 2;
	number = ITEM_OF(trend->ids, row + 2, trend->kernels, trend->n_kernels, trend->capacity);
	if (number < 0)
		return -ENOMEM;
	kernel = &trend->kernels[number];
	if (GROW(kernel->starts, kernel->n, kernel->starts_capacity) ||
	    GROW(kernel->durations, kernel->n, kernel->durations_capacity))
		return -ENOMEM;
	kernel->starts[kernel->n] = row[0];
	kernel->durations[kernel->n++] = row[1] - row[0];
	return 0;
}

/* Where the cumulated difference from the mean is largest. */
static void find_change(const struct kernel *kernel, double mean, int64_t *row)
{
	double largest = -1;
	int64_t sum = 0;

	for (size_t i = 0; i < kernel->n; i++) {
		double away;

		sum += kernel->durations[i];
		away = (double)sum - (double)(i + 1) * mean;
		away = away < 0 ? -away : away;
		if (away > largest) {
			largest = away;
			row[10] = (int64_t)i + 1;
			row[11] = kernel->starts[i];
			row[12] = sum;
			row[13] = bits_of(largest);
		}
	}
}

static int describe(const struct kernel *kernel, int64_t *row)
{
	double n = (double)kernel->n, half = 0.5, median, mean, mean_since = 0, middle = (n + 1) / 2;
	double since_since = 0, since_i = 0, length_i = 0, length_length = 0, warm = 0;
	double i_i = n * (n * n - 1) / 12, slope, left;
	size_t n_warm = (kernel->n + 9) / 10;
	struct series series = {0};
	int64_t total = 0;
	int result = 0;

	for (size_t i = 0; !result && i < kernel->n; i++) {
		total += kernel->durations[i];
		mean_since += (double)(kernel->starts[i] - kernel->starts[0]) / n;
		if (i < n_warm)
			warm += (double)kernel->durations[i];
		result = series_push(&series, kernel->durations[i]);
	}
	if (!result)
		result = series_quantiles(&series, &half, 1, &median);
	series_free(&series);
	if (result)
		return result;
	mean = (double)total / n;
	for (size_t i = 0; i < kernel->n; i++) {
		double since = (double)(kernel->starts[i] - kernel->starts[0]) - mean_since;
		double length = (double)kernel->durations[i] - mean;
		double at = (double)(i + 1) - middle;

		since_since += since * since;
		since_i += since * at;
		length_i += length * at;
		length_length += length * length;
	}
	slope = since_i / i_i; /* of one execution NaN, which is NULL */
	left = kernel->n > 1 ? (since_since - since_i * slope) / n : 0;
	row[2] = (int64_t)kernel->n;
	row[3] = bits_of(slope);
	row[4] = bits_of(left > 0 ? left : 0);
	row[5] = bits_of(median);
	row[6] = bits_of(length_i / i_i);
	row[7] = bits_of(warm / (double)n_warm);
	row[8] = bits_of(length_length / n);
	row[9] = total;
	find_change(kernel, mean, row);
	return 0;
}

static int trend_finish(void *state, struct table *out)
{
	struct trend *trend = state;

	for (size_t i = 0; i < trend->n_kernels; i++) {
		int64_t *row = table_add(out);

		if (!row)
			return -ENOMEM;
		row[0] = ids_key(&trend->ids, i)[0];
		row[1] = ids_key(&trend->ids, i)[1];
		if (describe(&trend->kernels[i], row))
			return -ENOMEM;
	}
	return 0;
}

static void trend_free(void *state)
{
	struct trend *trend = state;

	for (size_t i = 0; i < trend->n_kernels; i++) {
		free(trend->kernels[i].starts);
		free(trend->kernels[i].durations);
	}
	free(trend->kernels);
	ids_free(&trend->ids);
}

const struct operator_kind trend_operator = {
	.name = "trend",
	.n_inputs = 1,
	.widths = {4},
	.ordered = 1,
	.n_outputs = 1,
	.out_widths = {14},
	.state_bytes = sizeof(struct trend),
	.row = trend_row,
	.finish = trend_finish,
	.free = trend_free,
};

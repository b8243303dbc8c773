/* _kernel_trend: how steadily each kernel of a GPU comes, over all its executions in order.
 *
 * Rows: start, end (never before it), GPU, a number that stands for the name. */
#include <errno.h>
#include <stdlib.h>

#include "arrow/ids.h"
#include "operators/operator.h"
#include "operators/quantile.h"

struct kernel {
	int64_t *starts;
	int64_t *durations;
	size_t n, starts_capacity, durations_capacity;
};

struct trend {
	ITEMS(struct kernel) kernels;
};

static int trend_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct trend *trend = state;
	struct kernel *kernel = ITEM_OF(trend->kernels, 2, row + 2);

	(void)input;
	(void)out;
	if (!kernel || GROW(kernel->starts, kernel->n, kernel->starts_capacity) ||
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

/* Puts the durations in another order. */
static void describe(struct kernel *kernel, int64_t *row)
{
	double n = (double)kernel->n, mean, mean_since = 0, middle = (n + 1) / 2;
	double since_since = 0, since_i = 0, length_i = 0, length_length = 0, warm = 0;
	double i_i = n * (n * n - 1) / 12, slope, left;
	size_t n_warm = (kernel->n + 9) / 10;
	int64_t total = 0;

	for (size_t i = 0; i < kernel->n; i++) {
		total += kernel->durations[i];
		mean_since += (double)(kernel->starts[i] - kernel->starts[0]) / n;
		if (i < n_warm)
			warm += (double)kernel->durations[i];
	}
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
	row[6] = bits_of(length_i / i_i);
	row[7] = bits_of(warm / (double)n_warm);
	row[8] = bits_of(length_length / n);
	row[9] = total;
	find_change(kernel, mean, row);
	row[5] = bits_of(quantile(kernel->durations, kernel->n, 0.5));
}

static int trend_finish(void *state, struct table *out)
{
	struct trend *trend = state;

	for (size_t i = 0; i < trend->kernels.ids.n; i++) {
		int64_t *row = table_add(out);

		if (!row)
			return -ENOMEM;
		row[0] = ids_key(&trend->kernels.ids, i)[0];
		row[1] = ids_key(&trend->kernels.ids, i)[1];
		describe(&trend->kernels.all[i], row);
	}
	return 0;
}

static void trend_free(void *state)
{
	struct trend *trend = state;

	for (size_t i = 0; i < trend->kernels.ids.n; i++) {
		free(trend->kernels.all[i].starts);
		free(trend->kernels.all[i].durations);
	}
	FREE_ITEMS(trend->kernels);
}

const struct operator_kind trend_operator = {
	.name = "trend",
	.widths = {4},
	.ordered = 1,
	.keys = 2,
	.out_widths = {14},
	.state_bytes = sizeof(struct trend),
	.row = trend_row,
	.finish = trend_finish,
	.free = trend_free,
};

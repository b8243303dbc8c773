#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/grow.h"
#include "operators/series.h"

int series_push(struct series *series, int64_t value)
{
	if (value >= 0 && value <= UINT32_MAX) {
		if (GROW(series->small, series->n_small, series->small_capacity))
			return -ENOMEM;
		series->small[series->n_small++] = (uint32_t)value;
	} else {
		if (GROW(series->odd, series->n_odd, series->odd_capacity))
			return -ENOMEM;
		series->odd[series->n_odd++] = value;
	}
	return 0;
}

void series_free(struct series *series)
{
	free(series->small);
	free(series->odd);
}

/* Puts the k-th smallest of values[from, to) at its place, the smaller ones before it. */
static void select_kth(int64_t *values, size_t from, size_t to, size_t k)
{
	while (to - from > 1) {
		int64_t a = values[from], b = values[from + (to - from) / 2], c = values[to - 1];
		int64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
		size_t less = from, at = from, more = to;

		while (at < more) {
			int64_t value = values[at];

			if (value < pivot) {
				values[at++] = values[less];
				values[less++] = value;
			} else if (value > pivot) {
				values[at] = values[--more];
				values[more] = value;
			} else {
				at++;
			}
		}
		if (k < less)
			to = less;
		else if (k >= more)
			from = more;
		else
			return;
	}
}

int series_quantiles(const struct series *series, const double *at, unsigned n, double *out)
{
	size_t count = series_count(series), from = 0;
	int64_t *values = malloc((count + 1) * sizeof *values);

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < series->n_small; i++)
		values[i] = series->small[i];
	if (series->n_odd)
		memcpy(values + series->n_small, series->odd, series->n_odd * sizeof *values);
	for (unsigned i = 0; i < n; i++) {
		double place = (double)(count - 1) * at[i];
		size_t low = (size_t)place, high = low + (place > (double)low);

		select_kth(values, from, count, low);
		from = low;
		if (high > low)
			select_kth(values, low + 1, count, high);
		out[i] = (double)values[low] +
			 ((double)values[high] - (double)values[low]) * (place - (double)low);
	}
	free(values);
	return 0;
}

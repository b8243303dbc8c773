#include "operators/quantile.h"

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

double quantile(int64_t *values, size_t n, double at)
{
	double place = (double)(n - 1) * at;
	size_t low = (size_t)place, high = low + (place > (double)low);

	select_kth(values, 0, n, low);
	if (high > low)
		select_kth(values, high, n, high);
	return (double)values[low] +
	       ((double)values[high] - (double)values[low]) * (place - (double)low);
}

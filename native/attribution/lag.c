/* How late samples are: sums from which a correlation is made, for each of many lags. */
#include <errno.h>
#include <string.h>

#include "etl/attribution.h"

/* ns of [start, end) that lie inside the intervals, from *at on, which is moved up. */
static int64_t inside(const int64_t *starts, const int64_t *ends, int64_t n, int64_t *at,
		      int64_t start, int64_t end)
{
	int64_t sum = 0;

	while (*at < n && ends[*at] <= start)
		++*at;
	for (int64_t i = *at; i < n && starts[i] < end; i++) {
		int64_t from = starts[i] > start ? starts[i] : start;
		int64_t to = ends[i] < end ? ends[i] : end;

		sum += to - from;
	}
	return sum;
}

/* What does not depend on the lag, into the sums of the first one. */
static void sum_values(const struct etl_samples *samples, int metrics, int blocks, double *out)
{
	for (int m = 0; m < metrics; m++)
		for (int64_t i = 0; i < samples->rows; i++) {
			double *to = out + (size_t)(i * blocks / samples->rows) *
						   (3 + 3 * (size_t)metrics);
			double y = samples->values[m][i];

			to[3 + 3 * m] += y;
			to[4 + 3 * m] += y * y;
		}
}

int etl_lag_sums(const struct etl_samples *samples, int metrics, const int64_t *starts,
		 const int64_t *ends, int64_t intervals, const int64_t *lags, int n_lags,
		 int blocks, double *out)
{
	size_t of_block = 3 + 3 * (size_t)metrics;

	memset(out, 0, (size_t)blocks * of_block * sizeof *out);
	sum_values(samples, metrics, blocks, out);
	for (int lag = 1; lag < n_lags; lag++)
		memcpy(out + (size_t)lag * (size_t)blocks * of_block, out,
		       (size_t)blocks * of_block * sizeof *out);
	for (int lag = 0; lag < n_lags; lag++) {
		double *sums = out + (size_t)lag * (size_t)blocks * of_block;
		int64_t at = 0;

		for (int64_t i = 0; i < samples->rows; i++) {
			double *to = sums + (size_t)(i * blocks / samples->rows) * of_block;
			int64_t start = samples->start_ns[i], end = samples->end_ns[i];
			double x;

			if (end <= start)
				return -EINVAL;
			x = (double)inside(starts, ends, intervals, &at, start - lags[lag],
					   end - lags[lag]) /
			    (double)(end - start);
			to[0] += 1;
			to[1] += x;
			to[2] += x * x;
			for (int m = 0; m < metrics; m++)
				to[5 + 3 * m] += x * samples->values[m][i];
		}
	}
	return 0;
}

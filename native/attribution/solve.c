/* Linear equations with a matrix that is positive, and dense. */
#include "attribution/solve.h"

/* Four sums at once, as a chain of additions would wait for each of them. */
static double dot(const double *restrict x, const double *restrict y, size_t n)
{
	double sums[4] = {0};
	size_t k = 0;

	for (; k + 4 <= n; k += 4)
		for (size_t i = 0; i < 4; i++)
			sums[i] += x[k + i] * y[k + i];
	for (; k < n; k++)
		sums[0] += x[k] * y[k];
	return sums[0] + sums[1] + (sums[2] + sums[3]);
}

void matrix_decompose(double *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double *row = a + i * n;

		/* Until the row is done it holds L times D. */
		for (size_t j = 1; j < i; j++)
			row[j] -= dot(row, a + j * n, j);
		for (size_t k = 0; k < i; k++) {
			double scaled = row[k] / a[k * n + k];

			row[i] -= row[k] * scaled;
			row[k] = scaled;
		}
	}
}

/* to -= factor x from, of `width` values. */
static void subtract(double *restrict to, const double *restrict from, double factor, size_t width)
{
	size_t w = 0;

	for (; w + 4 <= width; w += 4) {
		to[w] -= factor * from[w];
		to[w + 1] -= factor * from[w + 1];
		to[w + 2] -= factor * from[w + 2];
		to[w + 3] -= factor * from[w + 3];
	}
	for (; w < width; w++)
		to[w] -= factor * from[w];
}

void matrix_solve(const double *a, size_t n, double *x, size_t width)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			subtract(x + i * width, x + k * width, a[i * n + k], width);
	for (size_t i = 0; i < n; i++)
		for (size_t w = 0; w < width; w++)
			x[i * width + w] /= a[i * n + i];
	for (size_t i = n; i-- > 0;)
		for (size_t k = 0; k < i; k++)
			subtract(x + k * width, x + i * width, a[i * n + k], width);
}

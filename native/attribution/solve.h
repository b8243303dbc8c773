#pragma once

#include <stddef.h>

/* Of A, of n rows, whose lower half is given: L of A = L D L' in it, D on the diagonal. */
void matrix_decompose(double *a, size_t n);

/* Solves for `width` right sides at once, which stand side by side in each row of `x`. */
void matrix_solve(const double *a, size_t n, double *x, size_t width);

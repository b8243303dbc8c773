
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/ids.h"
#include "attribution/fit.h"
#include "attribution/solve.h"

/* So little of each diagonal is added to it that only what cannot be told apart notices:
 * its inflation then becomes 1 / RIDGE. */
#define RIDGE 1e-9
/* Right sides that are solved at once. */
#define WIDTH 8

/* A product of two terms' shares, summed over the samples of a block. */
struct product {
	int32_t row, column; /* row <= column */
	double sum;
};

struct block {
	struct product *products;
	size_t n;
	double *moments; /* share x value, terms x metrics; NULL: no sample */
};

struct fit {
	int terms, metrics;
	int current; /* the block whose products are in `sums`; -1: none */
	ITEMS(double) sums; /* by row and column */
	double *ns; /* by term */
	struct block blocks[FIT_BLOCKS];
};

struct fit *fit_new(int terms, int metrics)
{
	struct fit *fit = calloc(1, sizeof *fit);

	if (!fit)
		return NULL;
	fit->terms = terms;
	fit->metrics = metrics;
	fit->current = -1;
	fit->ns = calloc((size_t)terms + 1, sizeof *fit->ns);
	if (fit->ns)
		return fit;
	free(fit);
	return NULL;
}

void fit_free(struct fit *fit)
{
	if (!fit)
		return;
	for (int i = 0; i < FIT_BLOCKS; i++) {
		free(fit->blocks[i].products);
		free(fit->blocks[i].moments);
	}
	FREE_ITEMS(fit->sums);
	free(fit->ns);
	free(fit);
}

/* Puts the products with their block, after those of an earlier visit to it. */
static int settle(struct fit *fit)
{
	size_t n = fit->sums.ids.n;
	struct block *block;
	struct product *more;

	if (fit->current < 0 || !n)
		return 0;
	block = &fit->blocks[fit->current];
	more = realloc(block->products, (block->n + n) * sizeof *more);
	if (!more)
		return -ENOMEM;
	block->products = more;
	for (size_t i = 0; i < n; i++) {
		int64_t key = *ids_key(&fit->sums.ids, i);

		more[block->n++] = (struct product){(int32_t)(key >> 32), (int32_t)key, fit->sums.all[i]};
	}
	ids_clear(&fit->sums.ids);
	return 0;
}

int fit_add(struct fit *fit, int block, double length, int n, const int32_t *terms,
	    const double *shares, const double *values)
{
	struct block *to = &fit->blocks[block];
	size_t cells = (size_t)fit->terms * (size_t)fit->metrics;
	int error = block == fit->current ? 0 : settle(fit);

	if (error)
		return error;
	fit->current = block;
	if (!to->moments && !(to->moments = calloc(cells ? cells : 1, sizeof *to->moments)))
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		double *moments = to->moments + (size_t)terms[i] * (size_t)fit->metrics;

		fit->ns[terms[i]] += shares[i] * length;
		for (int m = 0; m < fit->metrics; m++)
			moments[m] += shares[i] * values[m];
		for (int k = i; k < n; k++) {
			bool is_ordered = terms[i] <= terms[k];
			int64_t row = is_ordered ? terms[i] : terms[k];
			int64_t key = row << 32 | (is_ordered ? terms[k] : terms[i]);
			double *sum = ITEM_OF(fit->sums, 1, &key);

			if (!sum)
				return -ENOMEM;
			*sum += shares[i] * shares[k];
		}
	}
	return 0;
}

int fit_terms(struct fit *fit, double *ns, double *weight, double *blocks)
{
	size_t n = (size_t)fit->terms;
	int error = settle(fit);

	if (error)
		return error;
	fit->current = -1;
	memcpy(ns, fit->ns, n * sizeof *ns);
	memset(weight, 0, n * sizeof *weight);
	memset(blocks, 0, n * sizeof *blocks);
	for (int b = 0; b < FIT_BLOCKS; b++)
		for (size_t i = 0; i < fit->blocks[b].n; i++) {
			const struct product *one = &fit->blocks[b].products[i];

			if (one->row != one->column)
				continue;
			weight[one->row] += one->sum;
			blocks[one->row] += one->sum * one->sum;
		}
	for (size_t t = 0; t < n; t++)
		if (weight[t] > 0)
			blocks[t] = weight[t] * weight[t] / blocks[t];
	return 0;
}

/* The products of a block, by the columns that their terms stand for: into the lower half of a
 * matrix, or its diagonal alone. */
static void project(const struct block *block, const struct fit_design *design, double *matrix,
		    bool is_diagonal)
{
	size_t n = (size_t)design->n;

	for (size_t p = 0; p < block->n; p++) {
		const struct product *one = &block->products[p];

		for (int32_t i = design->first[one->row]; i < design->first[one->row + 1]; i++)
			for (int32_t k = design->first[one->column];
			     k < design->first[one->column + 1]; k++) {
				size_t row = (size_t)design->columns[i];
				size_t column = (size_t)design->columns[k];
				double sum = one->sum;

				/* A product of a term with itself comes in both orders. */
				if (one->row == one->column ? row < column : false)
					continue;
				if (row == column && one->row != one->column)
					sum *= 2;
				if (is_diagonal && row == column)
					matrix[row] += sum;
				else if (!is_diagonal)
					matrix[row > column ? row * n + column
							    : column * n + row] += sum;
			}
	}
}

static void gather(const struct fit *fit, const struct fit_design *design,
		   struct fit_solution *out, double *scratch)
{
	size_t n = (size_t)design->n;

	for (int b = 0; b < FIT_BLOCKS; b++) {
		project(&fit->blocks[b], design, out->factors, false);
		memset(scratch, 0, n * sizeof *scratch);
		project(&fit->blocks[b], design, scratch, true);
		for (size_t i = 0; i < n; i++)
			out->blocks[i] += scratch[i] * scratch[i];
	}
	for (size_t i = 0; i < n; i++) {
		out->weight[i] = out->factors[i * n + i];
		out->blocks[i] = out->weight[i] * out->weight[i] / out->blocks[i];
		out->factors[i * n + i] *= 1 + RIDGE;
	}
}

/* Sums by term, added to those of the columns that the terms stand for. */
static void add_to_columns(const struct fit *fit, const struct fit_design *design,
			   const double *terms, double *columns)
{
	size_t metrics = (size_t)fit->metrics;

	for (size_t t = 0; t < (size_t)fit->terms; t++)
		for (int32_t i = design->first[t]; i < design->first[t + 1]; i++)
			for (size_t m = 0; m < metrics; m++)
				columns[(size_t)design->columns[i] * metrics + m] +=
					terms[t * metrics + m];
}

static void add_to_terms(const struct fit *fit, const struct fit_design *design,
			 const double *columns, double *terms)
{
	size_t metrics = (size_t)fit->metrics;

	for (size_t t = 0; t < (size_t)fit->terms; t++)
		for (int32_t i = design->first[t]; i < design->first[t + 1]; i++)
			for (size_t m = 0; m < metrics; m++)
				terms[t * metrics + m] +=
					columns[(size_t)design->columns[i] * metrics + m];
}

/* What the samples of a block say beyond the levels, by term and metric: its score. */
static void score(const struct fit *fit, const struct block *block, const double *levels,
		  double *out)
{
	size_t metrics = (size_t)fit->metrics;

	memcpy(out, block->moments, (size_t)fit->terms * metrics * sizeof *out);
	for (size_t i = 0; i < block->n; i++) {
		size_t row = (size_t)block->products[i].row * metrics;
		size_t column = (size_t)block->products[i].column * metrics;
		double sum = block->products[i].sum;

		for (size_t m = 0; m < metrics; m++)
			out[row + m] -= sum * levels[column + m];
		for (size_t m = 0; row != column && m < metrics; m++)
			out[column + m] -= sum * levels[row + m];
	}
}

/* `terms` and `scores` are room for a value a term and metric. */
static void solve_levels(const struct fit *fit, const struct fit_design *design,
			 struct fit_solution *out, double *terms, double *scores)
{
	size_t n = (size_t)design->n, metrics = (size_t)fit->metrics;

	for (int b = 0; b < FIT_BLOCKS; b++)
		if (fit->blocks[b].moments)
			add_to_columns(fit, design, fit->blocks[b].moments, out->levels);
	matrix_solve(out->factors, n, out->levels, metrics);
	memset(terms, 0, (size_t)fit->terms * metrics * sizeof *terms);
	add_to_terms(fit, design, out->levels, terms);
	for (int b = 0; b < FIT_BLOCKS; b++) {
		double *moved = out->moved + (size_t)b * n * metrics;

		if (!fit->blocks[b].moments)
			continue;
		score(fit, &fit->blocks[b], terms, scores);
		add_to_columns(fit, design, scores, moved);
		matrix_solve(out->factors, n, moved, metrics);
	}
}

int fit_solve(const struct fit *fit, const struct fit_design *design, struct fit_solution *out)
{
	size_t n = (size_t)design->n, metrics = (size_t)fit->metrics;
	size_t cells = (size_t)fit->terms * metrics;
	double *scratch = malloc((2 * cells + n + 1) * sizeof *scratch);

	*out = (struct fit_solution){.columns = design->n, .metrics = fit->metrics};
	out->levels = calloc(n * metrics + 1, sizeof *out->levels);
	out->moved = calloc(FIT_BLOCKS * n * metrics + 1, sizeof *out->moved);
	out->weight = calloc(n + 1, sizeof *out->weight);
	out->blocks = calloc(n + 1, sizeof *out->blocks);
	out->factors = calloc(n * n + 1, sizeof *out->factors);
	if (!scratch || !out->levels || !out->moved || !out->weight || !out->blocks ||
	    !out->factors) {
		free(scratch);
		fit_solution_free(out);
		return -ENOMEM;
	}
	gather(fit, design, out, scratch);
	matrix_decompose(out->factors, n);
	solve_levels(fit, design, out, scratch, scratch + cells);
	free(scratch);
	return 0;
}

void fit_solution_free(struct fit_solution *solution)
{
	free(solution->levels);
	free(solution->moved);
	free(solution->weight);
	free(solution->blocks);
	free(solution->factors);
	*solution = (struct fit_solution){0};
}

int fit_uncertainty(const struct fit_solution *solution, int count,
		    void (*sum)(void *of, int at, double *factors, size_t stride), void *of,
		    double *out)
{
	size_t n = (size_t)solution->columns;
	double *asked = malloc((2 * n * WIDTH + 1) * sizeof *asked);
	double *solved = asked + n * WIDTH;

	if (!asked)
		return -ENOMEM;
	for (int at = 0; at < count; at += WIDTH) {
		int width = count - at < WIDTH ? count - at : WIDTH;

		memset(asked, 0, n * WIDTH * sizeof *asked);
		for (int w = 0; w < width; w++)
			sum(of, at + w, asked + w, WIDTH);
		memcpy(solved, asked, n * WIDTH * sizeof *asked);
		matrix_solve(solution->factors, n, solved, WIDTH);
		for (int w = 0; w < width; w++) {
			out[at + w] = 0;
			for (size_t i = 0; i < n; i++)
				out[at + w] += asked[i * WIDTH + (size_t)w] *
					       solved[i * WIDTH + (size_t)w];
		}
	}
	free(asked);
	return 0;
}

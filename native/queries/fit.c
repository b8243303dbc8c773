#include "queries/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So little of each diagonal is added to it that only what cannot be told apart notices:
 * its inflation then becomes 1 / RIDGE. */
#define RIDGE 1e-9

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
	int groups, terms, metrics;
	const int32_t *edges;
	const double *per_edge;
	int current; /* the block whose products are in the table; -1: none */
	struct product *table; /* open addressing; row -1 is empty */
	size_t mask, used;
	struct block blocks[FIT_BLOCKS];
};

struct fit *fit_new(int groups, int terms, int metrics, const int32_t *edges,
		    const double *per_edge)
{
	struct fit *fit = calloc(1, sizeof *fit);

	if (!fit)
		return NULL;
	fit->groups = groups;
	fit->terms = terms;
	fit->edges = edges;
	fit->per_edge = per_edge;
	fit->metrics = metrics;
	fit->current = -1;
	return fit;
}

void fit_free(struct fit *fit)
{
	if (!fit)
		return;
	for (int i = 0; i < FIT_BLOCKS; i++) {
		free(fit->blocks[i].products);
		free(fit->blocks[i].moments);
	}
	free(fit->table);
	free(fit);
}

static struct product *slot(struct product *table, size_t mask, int32_t row, int32_t column)
{
	uint64_t key = (uint64_t)(uint32_t)row << 32 | (uint32_t)column;
	size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;

	while (table[at].row >= 0 && (table[at].row != row || table[at].column != column))
		at = (at + 1) & mask;
	return &table[at];
}

static int table_grow(struct fit *fit)
{
	size_t slots = fit->table ? 2 * (fit->mask + 1) : 256;
	struct product *table = malloc(slots * sizeof *table);

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < slots; i++)
		table[i].row = -1;
	for (size_t i = 0; fit->table && i <= fit->mask; i++)
		if (fit->table[i].row >= 0)
			*slot(table, slots - 1, fit->table[i].row, fit->table[i].column) =
				fit->table[i];
	free(fit->table);
	fit->table = table;
	fit->mask = slots - 1;
	return 0;
}

/* Puts the table's products with their block, after those of an earlier visit to it. */
static int settle(struct fit *fit)
{
	struct block *block;
	struct product *more;

	if (fit->current < 0 || !fit->used)
		return 0;
	block = &fit->blocks[fit->current];
	more = realloc(block->products, (block->n + fit->used) * sizeof *more);
	if (!more)
		return -ENOMEM;
	block->products = more;
	for (size_t i = 0; i <= fit->mask; i++) {
		if (fit->table[i].row < 0)
			continue;
		more[block->n++] = fit->table[i];
		fit->table[i].row = -1;
	}
	fit->used = 0;
	return 0;
}

int fit_add(struct fit *fit, int block, int n, const int32_t *terms, const double *shares,
	    const double *values)
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

		for (int m = 0; m < fit->metrics; m++)
			moments[m] += shares[i] * values[m];
		for (int k = i; k < n; k++) {
			bool is_ordered = terms[i] <= terms[k];
			int32_t row = is_ordered ? terms[i] : terms[k];
			int32_t column = is_ordered ? terms[k] : terms[i];
			struct product *found;

			if ((!fit->table || 2 * fit->used > fit->mask) && table_grow(fit))
				return -ENOMEM;
			found = slot(fit->table, fit->mask, row, column);
			if (found->row < 0) {
				*found = (struct product){row, column, 0};
				fit->used++;
			}
			found->sum += shares[i] * shares[k];
		}
	}
	return 0;
}

/* L of A = L D L' in the lower half, D on the diagonal and in `diagonal`.  A is positive by
 * its ridge. */
static void decompose(double *a, size_t n, double *diagonal)
{
	for (size_t i = 0; i < n; i++) {
		double *row = a + i * n;

		/* Until the row is done it holds L times D. */
		for (size_t j = 0; j < i; j++)
			for (size_t k = 0; k < j; k++)
				row[j] -= row[k] * a[j * n + k];
		for (size_t k = 0; k < i; k++) {
			double scaled = row[k] / diagonal[k];

			row[i] -= row[k] * scaled;
			row[k] = scaled;
		}
		diagonal[i] = row[i];
	}
}

/* For `width` right sides at once, which stand side by side in each row of `x`. */
static void solve(const double *a, size_t n, double *restrict x, size_t width)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			for (size_t w = 0; w < width; w++)
				x[i * width + w] -= a[i * n + k] * x[k * width + w];
	for (size_t i = 0; i < n; i++)
		for (size_t w = 0; w < width; w++)
			x[i * width + w] /= a[i * n + i];
	for (size_t i = n; i-- > 0;)
		for (size_t k = 0; k < i; k++)
			for (size_t w = 0; w < width; w++)
				x[k * width + w] -= a[i * n + k] * x[i * width + w];
}

/* Sums over all blocks, with their ridge. */
static void gather(const struct fit *fit, double *products)
{
	size_t n = (size_t)fit->terms;

	for (int b = 0; b < FIT_BLOCKS; b++)
		for (size_t i = 0; i < fit->blocks[b].n; i++) {
			const struct product *one = &fit->blocks[b].products[i];

			products[(size_t)one->column * n + (size_t)one->row] += one->sum;
		}
	for (size_t i = 0; i < n; i++)
		/* A term without a sample stands alone, with level 0. */
		products[i * n + i] = products[i * n + i] > 0
					      ? products[i * n + i] * (1 + RIDGE)
					      : 1;
}

/* What a group's runs come to, of one of `width` solutions: its own term, and its edges. */
static double with_edges(const struct fit *fit, size_t group, const double *terms, size_t width)
{
	size_t edge = (size_t)fit->edges[group];

	if (!edge)
		return terms[group * width];
	return terms[group * width] +
	       fit->per_edge[group] * (terms[edge * width] + terms[(edge + 1) * width]);
}

/* How much there is of each group, how evenly blocks tell of it, and how apart it is. */
static void describe(const struct fit *fit, const double *products, struct fit_group *about,
		     double *scratch)
{
	size_t n = (size_t)fit->terms;

	for (int b = 0; b < FIT_BLOCKS; b++)
		for (size_t i = 0; i < fit->blocks[b].n; i++) {
			const struct product *one = &fit->blocks[b].products[i];

			if (one->row != one->column || one->row >= fit->groups)
				continue;
			about[one->row].weight += one->sum;
			about[one->row].blocks += one->sum * one->sum;
		}
	for (size_t g = 0; g < (size_t)fit->groups; g++) {
		double weight = about[g].weight;

		if (!(weight > 0))
			continue;
		about[g].blocks = weight * weight / about[g].blocks;
		memset(scratch, 0, n * sizeof *scratch);
		scratch[g] = 1;
		if (fit->edges[g]) {
			scratch[fit->edges[g]] = fit->per_edge[g];
			scratch[fit->edges[g] + 1] = fit->per_edge[g];
		}
		solve(products, n, scratch, 1);
		about[g].inflation = weight * with_edges(fit, g, scratch, 1);
	}
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

static void solve_levels(const struct fit *fit, const double *products,
			 const struct fit_group *about, double *levels, double *variances,
			 double *solved, double *scratch)
{
	size_t n = (size_t)fit->terms, metrics = (size_t)fit->metrics;
	size_t groups = (size_t)fit->groups;

	memset(solved, 0, n * metrics * sizeof *solved);
	for (int b = 0; b < FIT_BLOCKS; b++)
		for (size_t i = 0; fit->blocks[b].moments && i < n * metrics; i++)
			solved[i] += fit->blocks[b].moments[i];
	solve(products, n, solved, metrics);
	for (size_t i = 0; i < groups * metrics; i++)
		levels[i] = with_edges(fit, i / metrics, solved + i % metrics, metrics);
	for (int b = 0; b < FIT_BLOCKS; b++) {
		if (!fit->blocks[b].moments)
			continue;
		score(fit, &fit->blocks[b], solved, scratch);
		solve(products, n, scratch, metrics);
		for (size_t i = 0; i < groups * metrics; i++) {
			double moved =
				with_edges(fit, i / metrics, scratch + i % metrics, metrics);

			variances[i] += moved * moved;
		}
	}
	for (size_t i = 0; i < groups * metrics; i++)
		if (about[i / metrics].blocks > 1)
			variances[i] *= about[i / metrics].blocks /
					(about[i / metrics].blocks - 1);
}

int fit_solve(struct fit *fit, struct fit_group *about, double *levels, double *variances)
{
	size_t n = (size_t)fit->terms, groups = (size_t)fit->groups;
	size_t metrics = (size_t)fit->metrics, cells = groups * metrics;
	double *products, *scratch;
	int error = settle(fit);

	if (error)
		return error;
	products = calloc(n * n, sizeof *products);
	scratch = malloc(2 * n * (metrics ? metrics : 1) * sizeof *scratch);
	if (!products || !scratch) {
		error = -ENOMEM;
		goto out;
	}
	memset(about, 0, groups * sizeof *about);
	memset(levels, 0, cells * sizeof *levels);
	memset(variances, 0, cells * sizeof *variances);
	gather(fit, products);
	decompose(products, n, scratch);
	describe(fit, products, about, scratch);
	if (metrics)
		solve_levels(fit, products, about, levels, variances, scratch,
			     scratch + n * metrics);
out:
	free(products);
	free(scratch);
	return error;
}

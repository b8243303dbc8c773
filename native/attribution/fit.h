/* Least squares on samples: the level of each sort of time, from samples that mix several.
 *
 * A sample's value is taken for the sum, over terms, of the share of the sample that a term has
 * times its level.  The samples are put into blocks of neighbours; the sums of a block are kept,
 * so that the variance of a level is that between blocks and not that between samples, which are
 * no independent witnesses of one kernel.  What is added up once can be solved for several
 * designs, in each of which a term stands for the sum of some columns.
 * docs/design/pm-join.md has the formulae. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "etl/error.h"

#define FIT_BLOCKS 64

struct fit;

/* Of term t the columns are `columns[first[t]]` to before `columns[first[t + 1]]`; one may be there
 * twice. */
struct fit_design {
	int n;
	int32_t *first, *columns;
};

struct fit_solution {
	int columns, metrics;
	double *levels; /* columns x metrics */
	double *moved; /* blocks x columns x metrics: how much a block moves each level */
	double *weight; /* by column, sum of the squared shares: samples that are its alone */
	double *blocks; /* by column: blocks that tell of it, each as much as it does */
	double *factors; /* of the normal equations */
};

struct fit *fit_new(int terms, int metrics);
void fit_free(struct fit *fit);
/* One sample of `length` ns: `n` terms, each once, with the share of the sample that it has. */
int fit_add(struct fit *fit, int block, double length, int n, const int32_t *terms,
	    const double *shares, const double *values) ETL_MUST_CHECK;
/* After the last sample, by term: ns in samples, and weight and blocks as in a solution. */
int fit_terms(struct fit *fit, double *ns, double *weight, double *blocks) ETL_MUST_CHECK;
/* Each column must have a term with weight. */
int fit_solve(const struct fit *fit, const struct fit_design *design,
	      struct fit_solution *out) ETL_MUST_CHECK;
void fit_solution_free(struct fit_solution *solution);
/* Variances, for an error of 1 a sample, of `count` sums of columns; `sum` says their factors. */
int fit_uncertainty(const struct fit_solution *solution, int count,
		    void (*sum)(void *of, int at, double *factors, size_t stride), void *of,
		    double *out) ETL_MUST_CHECK;

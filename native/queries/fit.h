/* Least squares on samples: the level of each group of work, from samples that mix several.
 *
 * A sample's value is taken for the sum, over the groups (idle time is one), of the share of
 * the sample that the group ran times the group's level.  Of groups with long runs, each start
 * and each end in the sample adds something of its own: it takes runs time to get going, and
 * the clocks of samples and runs agree only so well.  The samples are put into blocks of
 * neighbours; the sums of a block are kept, so that the variance of a level is that between
 * blocks and not that between samples, which are no independent witnesses of one kernel.
 * docs/design/pm-join.md has the formulae. */
#ifndef ETL_QUERIES_FIT_H
#define ETL_QUERIES_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "etl/error.h"

#define FIT_BLOCKS 64

/* What a start or an end counts for, as if it lasted so long. */
#define FIT_EDGE_NS 1000

struct fit;

/* What is known of a group; `level` and `variance` have one value a metric. */
struct fit_group {
	double weight; /* sum of the squared shares: samples that are the group's alone */
	double inflation; /* how much less certain the level is than without the other groups */
	double blocks; /* blocks that tell of it, each as much as it does */
};

/* `edges` has for each group where in a row of terms its starts are, with its ends after
 * them, or 0; `per_edge` what one of them is against a run, FIT_EDGE_NS over its length.  Both
 * must stay.  Terms are the groups and then edges.  NULL: no memory. */
struct fit *fit_new(int groups, int terms, int metrics, const int32_t *edges,
		    const double *per_edge);
void fit_free(struct fit *fit);
/* One sample: `n` terms, each once, with the share of the sample that it has. */
int fit_add(struct fit *fit, int block, int n, const int32_t *terms, const double *shares,
	    const double *values) ETL_MUST_CHECK;
/* The levels of runs with their edges, `groups` x `metrics` each; nothing can be added any more. */
int fit_solve(struct fit *fit, struct fit_group *about, double *levels,
	      double *variances) ETL_MUST_CHECK;

#endif

/* The join of samples to runs: what its parts share. */
#pragma once

#include <stdbool.h>

#include "etl/attribution.h"
#include "arrow/heap.h"
#include "attribution/fit.h"
#include "attribution/states.h"

/* Groups of a device that are told apart by the fit, idle time included; those with least
 * time are one.  Up to a third of that have edges. */
#ifndef FIT_GROUPS
#define FIT_GROUPS 512
#endif
#define FIT_EDGES (2 * FIT_GROUPS / 3)
/* Terms: groups by themselves, starts and ends of groups, groups beside others whose set has no
 * term of its own, and such sets. */
#define FIT_BESIDE (FIT_GROUPS + FIT_EDGES)
#define FIT_SETS (FIT_BESIDE + FIT_GROUPS)
#define FIT_TERMS (FIT_SETS + FIT_STATES)
/* What a start or an end counts for, as if it lasted so long. */
#define FIT_EDGE_NS 1000
/* Planes of groups times metrics that are summed up while samples pass. */
#define OVERLAP_SUMS 7

/* One execution that is not finished, or still before the samples. */
struct run {
	int64_t start, end, process, correlation;
	int64_t samples, covered, alone;
	struct run *next; /* free ones */
	int32_t group;
	bool is_timed; /* `alone` is final; before, it is what the clock said at the start */
	double sums[]; /* by metric: ns with a value, value times ns */
};

struct device {
	int64_t lag, samples, seen;
	int64_t last_start, last_end; /* of its samples */
	int64_t clock, alone; /* until when its runs are counted; ns with just one */
	struct run **open; /* in the order of their starts */
	size_t n, room, limit;
	struct heap running; /* the same, as pointers, by their ends */
	struct fit *fit;
	struct states *states;
	int groups; /* with idle time */
	int fitted; /* of these, with idle time and the one for all others */
	int32_t *edges; /* by group: where its edges are among the terms, or 0 */
	double *per_edge; /* by group: what an edge is against a run, FIT_EDGE_NS over its length */
	int64_t *counts; /* as in etl_overlap_totals */
	double *planes;
	int64_t *held; /* by group: samples that hold it alone */
	const uint8_t *is_known;
};

struct etl_overlap {
	int devices, metrics;
	bool is_rows_wanted;
	double least_coverage;
	uint8_t *is_sum, *is_union, *is_known;
	struct device *device;
	struct run *free;
	struct etl_runs runs;
	struct etl_samples samples;
	int64_t run_at, sample_at, last_start, bound;
	bool no_more_runs, no_more_samples;
	double *values; /* of the sample at hand, as levels */
	double *shares; /* by term, all 0 between samples */
	int32_t *touched;
	double *touched_shares;
	int touched_n;
	struct heap running; /* groups, at one time in the sample at hand */
	int64_t *rows[9];
	double *row_values;
	size_t n_rows, rows_room;
};

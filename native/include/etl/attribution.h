/* What libcupti_etl.so offers to tell whose the samples of a GPU are; the rest is in abi.h. */
#pragma once

#include "etl/abi.h"

#pragma GCC visibility push(default)
/* cffi: begin */
struct etl_overlap;

/* Work on GPUs in the order of its starts, and samples nearly so; NaN where a value is not
 * known.  Of a run, `group` counts from 1 within its device; times are in ns. */
struct etl_runs {
	int64_t rows;
	const int64_t *device, *group, *start_ns, *end_ns, *process, *correlation;
};
struct etl_samples {
	int64_t rows;
	const int64_t *device, *start_ns, *end_ns;
	const double *const *values; /* a column a metric */
};
/* What is asked of a join; all arrays are copied. */
struct etl_overlap_options {
	int32_t devices, metrics, is_rows_wanted;
	double least_coverage; /* share of a run that must lie under samples that have a value */
	const int64_t *groups; /* of each device */
	const int64_t *samples; /* of each device */
	const int64_t *lag_ns; /* of each device: how much its samples are late */
	const double *interval_ns; /* of each device: length of a sample */
	const double *mean_ns; /* of each group of each device: length of a run */
	const uint8_t *is_sum; /* of each metric: its values are counts */
	const uint8_t *is_union; /* of each metric: what several do at once counts once */
	const uint8_t *is_known; /* devices x metrics: some sample has a value */
};
/* Runs that are done: 9 columns, and `values` with all metrics of a row after one another, as
 * means by time or, of counts, as the run's share. */
struct etl_overlap_rows {
	int64_t rows;
	const int64_t *columns[9]; /* device, group, start, end, process, correlation, samples, covered, alone */
	const double *values;
};
enum { ETL_OVERLAP_RUNS, ETL_OVERLAP_SAMPLES, ETL_OVERLAP_ROWS, ETL_OVERLAP_END, ETL_OVERLAP_UNSORTED };
enum { ETL_OVERLAP_COUNTS = 6, ETL_OVERLAP_FITS = 7, ETL_OVERLAP_PLANES = 14 };

struct etl_overlap *etl_overlap_new(const struct etl_overlap_options *options);
void etl_overlap_free(struct etl_overlap *join);
/* The next runs, or samples, which must stay until more are asked for; without rows: there
 * are no more. */
void etl_overlap_give_runs(struct etl_overlap *join, const struct etl_runs *runs);
void etl_overlap_give_samples(struct etl_overlap *join, const struct etl_samples *samples);
/* Goes on until something of the enumeration above is needed or done, or fails.  UNSORTED: the
 * samples are too far from the order of their starts; the join is of no more use. */
int etl_overlap_step(struct etl_overlap *join);
/* The rows, until the next step. */
void etl_overlap_take(struct etl_overlap *join, struct etl_overlap_rows *out);
/* After the end, of one device, with group 0 for idle time.  `counts`: planes of groups + 1:
 * runs, samples, duration, covered, alone, samples that hold it alone.  `fits`: likewise: weight,
 * inflation and blocks of the level alone, and of the fit in which all adds up; share of the time
 * of which nothing is known.  `planes`: of groups + 1 times metrics: covered ns, value times ns,
 * runs, mean of their values, sum of squared deviations; mean and squared deviations of the samples
 * that hold it alone; level and variance alone, by the fit in which all adds up, and with
 * what is seen of groups together shared out; how far the last may be off for that.  NaN where there is none. */
int etl_overlap_totals(struct etl_overlap *join, int device, int64_t *counts, double *fits, double *planes);

/* How well a metric goes with being busy, if the samples are late by so much: for each of
 * `n_lags` and each of `blocks` stretches of the samples the number, the sums of x and xx and, a metric each,
 * of y, yy and xy, where x is the share of a sample that is inside the intervals.  Samples and
 * intervals (which do not overlap) of one device, in order. */
int etl_lag_sums(const struct etl_samples *samples, int metrics, const int64_t *starts, const int64_t *ends, int64_t intervals, const int64_t *lags, int n_lags, int blocks, double *out);
/* cffi: end */
#pragma GCC visibility pop

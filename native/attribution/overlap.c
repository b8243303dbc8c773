/* Samples of whole devices joined to the runs that they fall into, in one pass over both.
 *
 * Runs come in the order of their starts.  A sample is taken when every run that starts before
 * its end is there; a run is let go when its device has a sample that begins at its end or
 * later, or when no sample of any device can begin before its end.  So what is held is what
 * runs at one time, however long the trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attribution/overlap.h"
#include "attribution/runs.h"
#include "attribution/sample.h"

/* Samples of one device, or of two, may be so much out of order. */
#define SLACK_NS INT64_C(10000000)
#define ROWS_AT_ONCE 65536
#define EVER_NS (INT64_MAX / 4)

/* Gives edges to the groups whose runs are not short against a sample: of shorter ones nearly
 * every sample holds both, and they cannot be told from the run. */
static void choose_edges(struct device *device, const double *mean_ns, double interval_ns,
			 int fitted)
{
	int terms = FIT_GROUPS;

	for (int g = 1; g < fitted && terms + 2 <= FIT_BESIDE; g++) {
		/* Those that share the last place have no length. */
		if (mean_ns[g - 1] < interval_ns / 2 || g == FIT_GROUPS - 1)
			continue;
		device->edges[g] = terms;
		device->per_edge[g] = FIT_EDGE_NS / mean_ns[g - 1];
		terms += 2;
	}
}

static int device_init(struct etl_overlap *join, struct device *device,
		       const struct etl_overlap_options *options, int at, const double *mean_ns)
{
	size_t groups = (size_t)options->groups[at] + 1, metrics = (size_t)join->metrics;

	device->lag = options->lag_ns[at];
	device->samples = options->samples[at];
	device->groups = (int)groups;
	device->fitted = groups < FIT_GROUPS ? (int)groups : FIT_GROUPS;
	device->limit = 4096;
	device->last_start = device->last_end = device->clock = -EVER_NS;
	device->is_known = join->is_known + (size_t)at * metrics;
	device->counts = calloc(groups * ETL_OVERLAP_COUNTS, sizeof *device->counts);
	device->planes = calloc(groups * metrics * OVERLAP_SUMS + 1, sizeof *device->planes);
	device->held = calloc(groups, sizeof *device->held);
	device->edges = calloc(groups, sizeof *device->edges);
	device->per_edge = calloc(groups, sizeof *device->per_edge);
	device->states = calloc(1, sizeof *device->states);
	device->fit = fit_new(FIT_TERMS, join->metrics);
	if (!device->counts || !device->planes || !device->held || !device->edges ||
	    !device->per_edge || !device->states || !device->fit)
		return -ENOMEM;
	choose_edges(device, mean_ns, options->interval_ns[at], device->fitted);
	return 0;
}

struct etl_overlap *etl_overlap_new(const struct etl_overlap_options *options)
{
	size_t devices = (size_t)options->devices, metrics = (size_t)options->metrics;
	struct etl_overlap *join = calloc(1, sizeof *join);
	const double *mean_ns = options->mean_ns;

	if (!join)
		return NULL;
	join->metrics = options->metrics;
	join->is_rows_wanted = options->is_rows_wanted != 0;
	join->least_coverage = options->least_coverage;
	join->last_start = join->bound = -EVER_NS;
	join->is_sum = calloc(metrics + 1, 1);
	join->is_union = calloc(metrics + 1, 1);
	join->is_known = calloc(devices * metrics + 1, 1);
	join->device = calloc(devices + 1, sizeof *join->device);
	join->values = calloc(metrics + 1, sizeof *join->values);
	join->shares = calloc(FIT_TERMS, sizeof *join->shares);
	join->touched = calloc(FIT_TERMS, sizeof *join->touched);
	join->touched_shares = calloc(FIT_TERMS, sizeof *join->touched_shares);
	if (!join->is_sum || !join->is_union || !join->is_known || !join->device || !join->values ||
	    !join->shares || !join->touched || !join->touched_shares)
		goto fail;
	memcpy(join->is_sum, options->is_sum, metrics);
	memcpy(join->is_union, options->is_union, metrics);
	memcpy(join->is_known, options->is_known, devices * metrics);
	for (int i = 0; i < options->devices; i++) {
		join->devices = i + 1;
		if (device_init(join, &join->device[i], options, i, mean_ns))
			goto fail;
		mean_ns += options->groups[i];
	}
	return join;
fail:
	etl_overlap_free(join);
	return NULL;
}

void etl_overlap_free(struct etl_overlap *join)
{
	if (!join)
		return;
	for (int i = 0; i < join->devices; i++) {
		struct device *device = &join->device[i];

		for (size_t k = 0; k < device->n; k++)
			free(device->open[k]);
		free(device->open);
		free(device->running.items);
		free(device->edges);
		free(device->per_edge);
		free(device->counts);
		free(device->planes);
		free(device->held);
		free(device->states);
		fit_free(device->fit);
	}
	while (join->free) {
		struct run *next = join->free->next;

		free(join->free);
		join->free = next;
	}
	for (int i = 0; i < 9; i++)
		free(join->rows[i]);
	free(join->row_values);
	free(join->device);
	free(join->is_sum);
	free(join->is_union);
	free(join->is_known);
	free(join->values);
	free(join->shares);
	free(join->touched);
	free(join->touched_shares);
	free(join->running.items);
	free(join);
}

void etl_overlap_give_runs(struct etl_overlap *join, const struct etl_runs *runs)
{
	join->runs = *runs;
	join->run_at = 0;
	join->no_more_runs = runs->rows == 0;
}

void etl_overlap_give_samples(struct etl_overlap *join, const struct etl_samples *samples)
{
	join->samples = *samples;
	join->sample_at = 0;
	join->no_more_samples = samples->rows == 0;
}

static int next_sample(struct etl_overlap *join)
{
	int64_t at = join->sample_at++;
	struct device *device = &join->device[join->samples.device[at]];
	int64_t start = join->samples.start_ns[at] - device->lag;
	int64_t end = join->samples.end_ns[at] - device->lag;

	if (start < device->last_start || start < join->bound)
		return ETL_OVERLAP_UNSORTED;
	if (start < device->last_end)
		start = device->last_end;
	return end > start ? overlap_take_sample(join, device, at, start, end) : 0;
}

static int next_run(struct etl_overlap *join)
{
	int64_t at = join->run_at++, start = join->runs.start_ns[at];
	struct device *device = &join->device[join->runs.device[at]];
	int64_t bound;
	int error;

	if (start < join->last_start)
		return -EINVAL;
	join->last_start = start;
	error = run_begin(join, device, &join->runs, at);
	if (error || device->n < device->limit)
		return error;
	/* No sample of this device for long: let go of what no sample can reach any more. */
	bound = join->no_more_samples
			? EVER_NS
			: join->samples.start_ns[join->sample_at] - device->lag - SLACK_NS;
	join->bound = bound > join->bound ? bound : join->bound;
	error = runs_retire(join, device, join->bound);
	device->limit = device->n < 2048 ? 4096 : 2 * device->n;
	return error;
}

static bool are_indices_valid(const struct etl_overlap *join)
{
	if (join->run_at < join->runs.rows) {
		int64_t device = join->runs.device[join->run_at];
		int64_t group = join->runs.group[join->run_at];

		if (device < 0 || device >= join->devices || group < 1 ||
		    group >= join->device[device].groups)
			return false;
	}
	if (join->sample_at < join->samples.rows) {
		int64_t device = join->samples.device[join->sample_at];

		return device >= 0 && device < join->devices;
	}
	return true;
}

/* Whether the next run begins before the next sample ends. */
static bool is_run_next(const struct etl_overlap *join)
{
	int64_t at = join->sample_at;

	if (join->no_more_runs || join->no_more_samples)
		return !join->no_more_runs;
	return join->runs.start_ns[join->run_at] <
	       join->samples.end_ns[at] - join->device[join->samples.device[at]].lag;
}

int etl_overlap_step(struct etl_overlap *join)
{
	join->n_rows = join->n_rows < ROWS_AT_ONCE ? join->n_rows : 0;
	for (;;) {
		int result;

		if (join->n_rows >= ROWS_AT_ONCE)
			return ETL_OVERLAP_ROWS;
		if (!join->no_more_runs && join->run_at == join->runs.rows)
			return ETL_OVERLAP_RUNS;
		if (!join->no_more_samples && join->sample_at == join->samples.rows)
			return ETL_OVERLAP_SAMPLES;
		if (join->no_more_runs && join->no_more_samples)
			break;
		if (!are_indices_valid(join))
			return -EINVAL;
		result = is_run_next(join) ? next_run(join) : next_sample(join);
		if (result)
			return result;
	}
	for (int i = 0; i < join->devices; i++) {
		int error;

		clock_advance(&join->device[i], EVER_NS);
		error = runs_retire(join, &join->device[i], EVER_NS);
		if (error)
			return error;
	}
	return ETL_OVERLAP_END;
}

void etl_overlap_take(struct etl_overlap *join, struct etl_overlap_rows *out)
{
	out->rows = (int64_t)join->n_rows;
	for (int i = 0; i < 9; i++)
		out->columns[i] = join->rows[i];
	out->values = join->row_values;
}

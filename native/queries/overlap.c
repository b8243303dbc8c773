/* Samples of whole devices joined to the runs that they fall into, in one pass over both.
 *
 * Runs come in the order of their starts.  A sample is taken when every run that starts before
 * its end is there; a run is let go when its device has a sample that begins at its end or
 * later, or when no sample of any device can begin before its end.  So what is held is what
 * runs at one time, however long the trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "queries/overlap.h"

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
		free(device->running.runs);
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
	free(join->running);
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

/* The values of a sample as levels: of a count, what came in a nanosecond.  Whether there is
 * one of every metric that the device has. */
static bool take_values(struct etl_overlap *join, const struct device *device, int64_t at,
			int64_t length)
{
	bool is_whole = true;

	for (int m = 0; m < join->metrics; m++) {
		double value = join->samples.values[m][at];

		join->values[m] = join->is_sum[m] ? value / (double)length : value;
		if (!device->is_known[m])
			continue;
		is_whole = is_whole && value == value;
	}
	return is_whole;
}

static void add_to_run(const struct etl_overlap *join, struct run *run, int64_t overlap)
{
	run->samples++;
	run->covered += overlap;
	for (int m = 0; m < join->metrics; m++) {
		double value = join->values[m];

		if (value == value) {
			run->sums[2 * m] += (double)overlap;
			run->sums[2 * m + 1] += (double)overlap * value;
		}
	}
}

/* The sample as an equation between its values and what ran in it. */
static int add_to_fit(struct etl_overlap *join, struct device *device, double length)
{
	int64_t total = device->samples > 0 ? device->samples : 1;
	int64_t block = (device->seen - 1) * FIT_BLOCKS / total;

	for (int i = 0; i < join->touched_n; i++)
		join->touched_shares[i] = join->shares[join->touched[i]];
	/* A metric that the device lacks has level 0 here, and none in the answer. */
	for (int m = 0; m < join->metrics; m++)
		if (!device->is_known[m])
			join->values[m] = 0;
	block = block < FIT_BLOCKS ? block : FIT_BLOCKS - 1;
	return fit_add(device->fit, (int)block, length, join->touched_n, join->touched,
		       join->touched_shares, join->values);
}

/* So much of a term is in the sample. */
static void add_share(struct etl_overlap *join, int32_t term, double share)
{
	if (join->shares[term] == 0)
		join->touched[join->touched_n++] = term;
	join->shares[term] += share;
}

/* Of a part of the sample `n` runs of `running` were there. */
static void add_part(struct etl_overlap *join, struct device *device, size_t n, double share)
{
	int32_t groups[STATE_MEMBERS], state;

	if (!(share > 0))
		return;
	if (n <= 1) {
		add_share(join, n ? join->running[0].group : 0, share);
		return;
	}
	for (size_t i = 0; i < n && i < STATE_MEMBERS; i++)
		groups[i] = join->running[i].group;
	state = n <= STATE_MEMBERS ? state_of(device->states, groups, (int32_t)n) : -1;
	if (state >= 0)
		add_share(join, FIT_SETS + state, share);
	for (size_t i = 0; state < 0 && i < n; i++)
		add_share(join, FIT_BESIDE + join->running[i].group, share);
}

/* The parts of the sample until `time`, or until nothing runs; what ends before is taken out. */
static int64_t pass_parts(struct etl_overlap *join, struct device *device, size_t *n, int64_t from,
			  int64_t time, double whole)
{
	while (*n) {
		size_t first = 0;
		int64_t until;

		for (size_t i = 1; i < *n; i++)
			if (join->running[i].end < join->running[first].end)
				first = i;
		until = join->running[first].end;
		if (until > time)
			break;
		add_part(join, device, *n, (double)(until - from) / whole);
		from = until;
		join->running[first] = join->running[--*n];
	}
	add_part(join, device, *n, (double)(time - from) / whole);
	return time;
}

static int running_grow(struct etl_overlap *join)
{
	size_t more = join->running_room ? 2 * join->running_room : 64;
	struct running *moved = realloc(join->running, more * sizeof *moved);

	if (!moved)
		return -ENOMEM;
	join->running = moved;
	join->running_room = more;
	return 0;
}

static void add_edges(struct etl_overlap *join, const struct device *device, int32_t group,
		      bool is_start, bool is_end, double whole)
{
	if (!device->edges[group])
		return;
	if (is_start)
		add_share(join, device->edges[group], FIT_EDGE_NS / whole);
	if (is_end)
		add_share(join, device->edges[group] + 1, FIT_EDGE_NS / whole);
}

/* A sample that holds one group alone, from its start to its end. */
static void add_held(struct etl_overlap *join, struct device *device)
{
	size_t metrics = (size_t)join->metrics, plane = (size_t)device->groups * metrics;
	int32_t group = 0;
	double *cell;

	for (int i = 0; i < join->touched_n; i++) {
		int32_t term = join->touched[i];

		/* Of edges the sample may have some. */
		if (term >= FIT_GROUPS && term < FIT_BESIDE)
			continue;
		if (group || !term || term >= FIT_BESIDE)
			return;
		group = term;
	}
	cell = device->planes + (size_t)group * metrics + 5 * plane;
	if (!group)
		return;
	device->held[group]++;
	for (size_t m = 0; m < metrics; m++) {
		double step = join->values[m] - cell[m];

		cell[m] += step / (double)device->held[group];
		cell[plane + m] += step * (join->values[m] - cell[m]);
	}
}

static int take_sample(struct etl_overlap *join, struct device *device, int64_t at,
		       int64_t start, int64_t end)
{
	int64_t length = join->samples.end_ns[at] - join->samples.start_ns[at];
	int64_t now = start;
	bool is_whole = take_values(join, device, at, length);
	double whole = (double)(end - start);
	size_t running = 0;
	int error = 0;

	join->touched_n = 0;
	for (size_t i = 0; i < device->n; i++) {
		struct run *run = device->open[i];
		int64_t from = run->start > start ? run->start : start;
		int64_t to = run->end < end ? run->end : end;
		int32_t group = run->group < FIT_GROUPS ? run->group : FIT_GROUPS - 1;

		if (to <= from)
			continue;
		add_to_run(join, run, to - from);
		now = pass_parts(join, device, &running, now, from, whole);
		if (running == join->running_room && (error = running_grow(join)))
			return error;
		join->running[running++] = (struct running){to, group};
		add_edges(join, device, group, run->start >= start, run->end <= end, whole);
	}
	pass_parts(join, device, &running, now, end, whole);
	device->seen++;
	if (is_whole) {
		error = add_to_fit(join, device, whole);
		add_held(join, device);
	}
	for (int i = 0; i < join->touched_n; i++)
		join->shares[join->touched[i]] = 0;
	device->last_start = start;
	device->last_end = end;
	clock_advance(device, end);
	return error ? error : runs_retire(join, device, end);
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
	return end > start ? take_sample(join, device, at, start, end) : 0;
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

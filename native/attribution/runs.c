/* Runs between their start and the time when no sample can concern them any more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/grow.h"
#include "attribution/runs.h"

static struct run *run_new(struct etl_overlap *join)
{
	struct run *run = join->free;
	size_t sums = 2 * (size_t)join->metrics * sizeof(double);

	if (run)
		join->free = run->next;
	else
		run = malloc(sizeof *run + sums);
	if (run)
		memset(run, 0, sizeof *run + sums);
	return run;
}

static void clock_set(struct device *device, int64_t time)
{
	if (time <= device->clock)
		return;
	if (device->running.n == 1)
		device->alone += time - device->clock;
	device->clock = time;
}

void clock_advance(struct device *device, int64_t time)
{
	while (device->running.n && device->running.items[0].end <= time) {
		struct run *run = (struct run *)(intptr_t)device->running.items[0].what;

		clock_set(device, run->end);
		/* Whenever just one ran since its start, it was this one. */
		run->alone = device->alone - run->alone;
		run->is_timed = true;
		heap_pop(&device->running);
	}
	clock_set(device, time);
}

int run_begin(struct etl_overlap *join, struct device *device, const struct etl_runs *from,
	      int64_t at)
{
	int64_t start = from->start_ns[at], end = from->end_ns[at];
	struct run *run;

	if (GROW(device->open, device->n, device->room) || !(run = run_new(join)))
		return -ENOMEM;
	run->start = start;
	run->end = end < start ? start : end;
	run->group = (int32_t)from->group[at];
	run->process = from->process[at];
	run->correlation = from->correlation[at];
	device->open[device->n++] = run;
	clock_advance(device, start);
	run->alone = device->alone;
	/* One that ends as it starts is beside nothing, and nothing is beside it. */
	if (run->end > run->start)
		return heap_push(&device->running, run->end, (intptr_t)run);
	run->alone = 0;
	run->is_timed = true;
	return 0;
}

static int rows_grow(struct etl_overlap *join)
{
	size_t more = join->rows_room ? 2 * join->rows_room : 4096;
	size_t metrics = (size_t)join->metrics;
	double *values = realloc(join->row_values, more * (metrics ? metrics : 1) * sizeof *values);

	if (!values)
		return -ENOMEM;
	join->row_values = values;
	for (int i = 0; i < 9; i++) {
		int64_t *column = realloc(join->rows[i], more * sizeof *column);

		if (!column)
			return -ENOMEM;
		join->rows[i] = column;
	}
	join->rows_room = more;
	return 0;
}

static int row_write(struct etl_overlap *join, const struct device *device,
		     const struct run *run, const double *values)
{
	const int64_t cells[9] = {device - join->device, run->group,   run->start,
				  run->end,		 run->process, run->correlation,
				  run->samples,		 run->covered, run->alone};
	size_t metrics = (size_t)join->metrics;

	if (join->n_rows == join->rows_room && rows_grow(join))
		return -ENOMEM;
	for (int i = 0; i < 9; i++)
		join->rows[i][join->n_rows] = cells[i];
	memcpy(join->row_values + join->n_rows * metrics, values, metrics * sizeof *values);
	join->n_rows++;
	return 0;
}

/* What the run says, once: into the sums of its group, and as a row. */
static int run_finish(struct etl_overlap *join, struct device *device, const struct run *run)
{
	size_t groups = (size_t)device->groups, metrics = (size_t)join->metrics;
	size_t group = (size_t)run->group, plane = groups * metrics;
	const int64_t counted[5] = {1, run->samples, run->end - run->start, run->covered,
				    run->alone};
	double least = join->least_coverage * (double)(run->end - run->start);

	for (size_t i = 0; i < 5; i++)
		device->counts[i * groups + group] += counted[i];
	for (size_t m = 0; m < metrics; m++) {
		double weight = run->sums[2 * m], sum = run->sums[2 * m + 1];
		double *cell = device->planes + group * metrics + m;
		double value = __builtin_nan(""), step;

		cell[0] += weight;
		cell[plane] += sum;
		if (weight > 0 && weight >= least) {
			value = join->is_sum[m] ? sum : sum / weight;
			cell[2 * plane] += 1;
			step = value - cell[3 * plane];
			cell[3 * plane] += step / cell[2 * plane];
			cell[4 * plane] += step * (value - cell[3 * plane]);
		}
		join->values[m] = value;
	}
	return join->is_rows_wanted ? row_write(join, device, run, join->values) : 0;
}

int runs_retire(struct etl_overlap *join, struct device *device, int64_t time)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < device->n; i++) {
		struct run *run = device->open[i];

		if (error || !run->is_timed || run->end > time) {
			device->open[kept++] = run;
			continue;
		}
		error = run_finish(join, device, run);
		run->next = join->free;
		join->free = run;
	}
	device->n = kept;
	return error;
}

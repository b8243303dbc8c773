/* A sample that is taken: what ran in it, and how much of it. */
#include <errno.h>
#include <string.h>

#include "attribution/runs.h"
#include "attribution/sample.h"

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

/* A part of the sample, in which what is running now was there. */
static void add_part(struct etl_overlap *join, struct device *device, double share)
{
	int32_t groups[STATE_MEMBERS], state;
	size_t n = join->running.n;

	if (!(share > 0))
		return;
	if (n <= 1) {
		add_share(join, n ? (int32_t)join->running.items[0].what : 0, share);
		return;
	}
	for (size_t i = 0; i < n && i < STATE_MEMBERS; i++)
		groups[i] = (int32_t)join->running.items[i].what;
	state = n <= STATE_MEMBERS ? state_of(device->states, groups, (int32_t)n) : -1;
	if (state >= 0)
		add_share(join, FIT_SETS + state, share);
	for (size_t i = 0; state < 0 && i < n; i++)
		add_share(join, FIT_BESIDE + (int32_t)join->running.items[i].what, share);
}

/* The parts of the sample until `time`, or until nothing runs; what ends before is taken out. */
static int64_t pass_parts(struct etl_overlap *join, struct device *device, int64_t from,
			  int64_t time, double whole)
{
	while (join->running.n && join->running.items[0].end <= time) {
		int64_t until = join->running.items[0].end;

		add_part(join, device, (double)(until - from) / whole);
		from = until;
		heap_pop(&join->running);
	}
	add_part(join, device, (double)(time - from) / whole);
	return time;
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

int overlap_take_sample(struct etl_overlap *join, struct device *device, int64_t at,
			int64_t start, int64_t end)
{
	int64_t length = join->samples.end_ns[at] - join->samples.start_ns[at];
	int64_t now = start;
	bool is_whole = take_values(join, device, at, length);
	double whole = (double)(end - start);
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
		now = pass_parts(join, device, now, from, whole);
		if (heap_push(&join->running, to, group))
			return -ENOMEM;
		add_edges(join, device, group, run->start >= start, run->end <= end, whole);
	}
	pass_parts(join, device, now, end, whole);
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

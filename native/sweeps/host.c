/* What gap_attribution asks of host_activity: how long each state of the host lasted within given
 * spans of time.
 *
 * Rows: start, end (never before it), process, class (0 profiler, 1 waiting, 2 memory,
 * 3 launching, 4 other), 0 of a call.  A moment has a class of -1 (the span begins) or -2 (it
 * ends), and the number of its span, from 0, instead of the 0. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/sweep.h"

#define N_STATES 5
#define N_FIELDS (N_STATES + 1) /* of a span: the time in each state, and when it ended */

struct process {
	struct heap calls;
	int64_t n[N_STATES]; /* calls that run */
	int64_t spent_ns[N_STATES];
	int64_t seen_ns;
};

struct host {
	struct ids ids;
	struct process *processes;
	size_t n_processes, capacity;
	int64_t last_key, last;
};

static struct process *process_of(struct host *host, int64_t key)
{
	int64_t number;

	if (host->n_processes && key == host->last_key)
		return &host->processes[host->last];
	host->ids.width = 1;
	number = ids_of(&host->ids, &key);
	if (number < 0)
		return NULL;
	if ((size_t)number == host->n_processes) {
		if (GROW(host->processes, host->n_processes, host->capacity))
			return NULL;
		host->processes[host->n_processes++] = (struct process){0};
	}
	host->last_key = key;
	host->last = number;
	return &host->processes[number];
}

/* Time goes on to `now` in the first state that holds. */
static void pass(struct process *process, int64_t now)
{
	for (unsigned i = 0; i < N_STATES; i++) {
		if (process->n[i]) {
			process->spent_ns[i] += now - process->seen_ns;
			break;
		}
	}
	process->seen_ns = now;
}

static int host_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct process *process = process_of(state, row[2]);
	int64_t *span;

	(void)input;
	if (!process || row[3] < -2 || row[3] >= N_STATES)
		return process ? -EINVAL : -ENOMEM;
	while (process->calls.n && process->calls.items[0].end <= row[0]) {
		pass(process, process->calls.items[0].end);
		process->n[heap_pop(&process->calls).what]--;
	}
	pass(process, row[0]);
	if (row[3] >= 0) {
		process->n[row[3]]++;
		return heap_push(&process->calls, row[1], row[3]);
	}
	if (row[4] < 0)
		return -EINVAL;
	while (out->n <= (size_t)row[4]) {
		int64_t *fresh = table_add(out);

		if (!fresh)
			return -ENOMEM;
		memset(fresh, 0, N_FIELDS * sizeof *fresh);
	}
	span = out->rows + (size_t)row[4] * N_FIELDS;
	for (unsigned i = 0; i < N_STATES; i++)
		span[i] += row[3] == -1 ? -process->spent_ns[i] : process->spent_ns[i];
	if (row[3] == -2)
		span[N_STATES] = row[0];
	return 0;
}

static int host_finish(void *state, struct table *out)
{
	(void)state;
	(void)out;
	return 0;
}

static void host_free(void *state)
{
	struct host *host = state;

	for (size_t i = 0; i < host->n_processes; i++)
		free(host->processes[i].calls.items);
	free(host->processes);
	ids_free(&host->ids);
}

const struct sweep_kind host_sweep = {
	.name = "host",
	.n_inputs = 1,
	.widths = {5},
	.ordered = 1,
	.n_outputs = 1,
	.out_widths = {N_FIELDS},
	.state_bytes = sizeof(struct host),
	.row = host_row,
	.finish = host_finish,
	.free = host_free,
};

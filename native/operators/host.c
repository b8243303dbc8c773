/* _gap_cause: how long each state of the host lasted within gaps of the GPUs, up to when the call
 * that asked for the work after the gap had returned, and whether it waited when the gap began.  Of
 * a gap without such a call nothing is said.  Gaps that are given end where the GPU had other work.
 *
 * Rows: start, end (never before it), process, class (0 profiler, 1 loading, 2 waiting,
 * 3 memory, 4 launching, 5 other), correlation id of a call.  A gap has a class of -1 less its
 * number, which counts from 0, and the correlation id of the call that it waits for.  UNKNOWN for
 * NULL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operators/bits.h"
#include "operators/calls.h"
#include "arrow/heap.h"
#include "operators/operator.h"

#define N_STATES 6
#define WAITING 2
/* Of a gap: the time in each state, up to when, whether its call returned at all, and whether the
 * host waited when it began. */
enum { UP_TO = N_STATES, IS_KNOWN, IS_AFTER_WAIT, N_FIELDS };
/* What is running: its class, and above these bits the correlation id. */
#define CLASS_BITS 3
#define NO_CORRELATION (-1)

struct gap {
	int64_t start, end, number, correlation;
};

/* A gap that was over before its call returned, if it does: the call can come, and not. */
struct late {
	int64_t number, process, correlation, start;
};

struct process {
	struct heap calls;
	int64_t n[N_STATES]; /* calls that run */
	int64_t spent_ns[N_STATES];
	int64_t seen_ns;
	struct gap *gaps; /* those of this time; few, as there are few GPUs */
	size_t n_gaps, capacity;
};

struct host {
	ITEMS(struct process) processes;
	struct bits returned; /* calls */
	struct late *late;
	size_t n_late, late_capacity;
};

/* Time goes on to `now` in the first state that holds.  That of a gap's begin is known now, as all
 * that began at the same time was seen. */
static void pass(struct process *process, int64_t now, struct table *out)
{
	unsigned state = 0;

	if (now == process->seen_ns)
		return;
	while (state < N_STATES && !process->n[state])
		state++;
	if (state < N_STATES)
		process->spent_ns[state] += now - process->seen_ns;
	for (size_t i = 0; state == WAITING && i < process->n_gaps; i++) {
		const struct gap *gap = &process->gaps[i];

		if (gap->start == process->seen_ns)
			out->rows[(size_t)gap->number * N_FIELDS + IS_AFTER_WAIT] = 1;
	}
	process->seen_ns = now;
}

/* From now on the host is not to blame for the gap. */
static void settle(struct process *process, size_t at, struct table *out)
{
	int64_t *row = out->rows + (size_t)process->gaps[at].number * N_FIELDS;

	for (unsigned i = 0; i < N_STATES; i++)
		row[i] += process->spent_ns[i];
	row[UP_TO] = process->seen_ns;
	process->gaps[at] = process->gaps[--process->n_gaps];
}

static int end_call(struct host *host, struct process *process, int64_t key, struct table *out)
{
	struct running call = heap_pop(&process->calls);
	int64_t correlation = call.what >> CLASS_BITS;
	int result;

	pass(process, call.end, out);
	process->n[call.what & ((1 << CLASS_BITS) - 1)]--;
	if (correlation == NO_CORRELATION)
		return 0;
	for (size_t i = process->n_gaps; i-- > 0;) {
		if (process->gaps[i].correlation != correlation)
			continue;
		out->rows[(size_t)process->gaps[i].number * N_FIELDS + IS_KNOWN] = 1;
		settle(process, i, out);
	}
	result = bits_set(&host->returned, key, correlation);
	return result < 0 ? result : 0;
}

/* Calls and gaps end that do so up to `now`, in order. */
static int end_until(struct host *host, struct process *process, int64_t key, int64_t now,
		     struct table *out)
{
	while (true) {
		int64_t next = process->calls.n ? process->calls.items[0].end : INT64_MAX;
		size_t first = process->n_gaps;

		for (size_t i = 0; i < process->n_gaps; i++) {
			if (process->gaps[i].end < next) {
				next = process->gaps[i].end;
				first = i;
			}
		}
		if (next > now || (first == process->n_gaps && !process->calls.n))
			return 0;
		if (first < process->n_gaps) {
			const struct gap *gap = &process->gaps[first];

			if (GROW(host->late, host->n_late, host->late_capacity))
				return -ENOMEM;
			host->late[host->n_late++] =
				(struct late){gap->number, key, gap->correlation, gap->start};
			pass(process, next, out);
			settle(process, first, out);
		} else {
			int result = end_call(host, process, key, out);

			if (result)
				return result;
		}
	}
}

static int begin_gap(struct host *host, struct process *process, const int64_t *row,
		     struct table *out)
{
	size_t number = (size_t)(-1 - row[3]);
	int64_t *spent;

	while (out->n <= number) {
		int64_t *fresh = table_add(out);

		if (!fresh)
			return -ENOMEM;
		memset(fresh, 0, N_FIELDS * sizeof *fresh);
	}
	spent = out->rows + number * N_FIELDS;
	spent[UP_TO] = row[0];
	if (row[4] == UNKNOWN)
		return 0;
	if (bits_get(&host->returned, row[2], row[4])) {
		spent[IS_KNOWN] = 1;
		return 0;
	}
	if (GROW(process->gaps, process->n_gaps, process->capacity))
		return -ENOMEM;
	process->gaps[process->n_gaps++] = (struct gap){row[0], row[1], (int64_t)number, row[4]};
	for (unsigned i = 0; i < N_STATES; i++)
		spent[i] = -process->spent_ns[i];
	return 0;
}

static int host_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct host *host = state;
	struct process *process = ITEM_OF(host->processes, 1, row + 2);
	int64_t correlation = row[4] == UNKNOWN ? NO_CORRELATION : row[4];
	int result;

	(void)input;
	if (!process || row[3] >= N_STATES)
		return process ? -EINVAL : -ENOMEM;
	result = end_until(host, process, row[2], row[0], out);
	if (result)
		return result;
	pass(process, row[0], out);
	if (row[3] < 0)
		return begin_gap(host, process, row, out);
	/* None that CUPTI counts is so large; with others the SQL deals. */
	if (correlation < NO_CORRELATION || correlation > INT64_MAX >> CLASS_BITS)
		return -E2BIG;
	process->n[row[3]]++;
	return heap_push(&process->calls, row[1],
			 correlation * (1 << CLASS_BITS) + row[3]);
}

static int host_finish(void *state, struct table *out)
{
	struct host *host = state;
	int result = 0;

	for (size_t i = 0; !result && i < host->processes.ids.n; i++) {
		int64_t key = *ids_key(&host->processes.ids, i);

		result = end_until(host, &host->processes.all[i], key, INT64_MAX, out);
	}
	for (size_t i = 0; !result && i < host->n_late; i++) {
		const struct late *late = &host->late[i];
		int64_t *spent = out->rows + (size_t)late->number * N_FIELDS;

		spent[IS_KNOWN] = bits_get(&host->returned, late->process, late->correlation);
		if (!spent[IS_KNOWN]) {
			memset(spent, 0, N_FIELDS * sizeof *spent);
			spent[UP_TO] = late->start;
		}
	}
	return result;
}

static void host_free(void *state)
{
	struct host *host = state;

	for (size_t i = 0; i < host->processes.ids.n; i++) {
		free(host->processes.all[i].calls.items);
		free(host->processes.all[i].gaps);
	}
	FREE_ITEMS(host->processes);
	free(host->late);
	bits_free(&host->returned);
}

const struct operator_kind host_operator = {
	.name = "host",
	.widths = {5},
	.ordered = 1,
	.keys = 2,
	.out_widths = {N_FIELDS},
	.state_bytes = sizeof(struct host),
	.row = host_row,
	.finish = host_finish,
	.free = host_free,
};

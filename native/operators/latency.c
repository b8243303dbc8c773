/* launch_latency: the call, the time on the queue and the run of kernels, by both their names.
 * short_kernels: those that ran shorter than their call, by device.
 *
 * Of what a graph launch asked for, which is one launch, the first kernel counts.
 *
 * Rows of input 0: calls (calls.h); of input 1: process, correlation id, start, end, 1 if it is of
 * a graph (as are all of a call that launches one), a number that stands for the name, device; UNKNOWN for NULL. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operators/calls.h"
#include "operators/operator.h"
#include "operators/series.h"

enum { PROCESS, CORRELATION, START, END, IS_GRAPH, NAME, DEVICE, N_FIELDS };
enum { PAIRS, DEVICES };

struct pair {
	struct series call, queue, kernel;
	int64_t n, early, shorter;
};

struct device {
	int64_t n, shorter, call_ns, kernel_ns; /* times of the shorter */
};

/* Of the kernels that a call launched as a graph, the first: its row. */
struct graph {
	struct call call;
	int64_t row[N_FIELDS];
};

struct latency {
	struct calls calls;
	struct ids ids, graph_ids, device_ids;
	struct pair *pairs;
	struct graph *graphs;
	struct device *devices;
	size_t n_pairs, pairs_capacity, n_graphs, graphs_capacity, n_devices, devices_capacity;
};

static struct device *device_of(struct latency *latency, int64_t process, int64_t device)
{
	int64_t number;

	latency->device_ids.width = 2;
	number = ITEM_OF(latency->device_ids, ((const int64_t[]){process, device}),
			 latency->devices, latency->n_devices, latency->devices_capacity);
	return number < 0 ? NULL : &latency->devices[number];
}

static int count(struct latency *latency, const struct call *call, const int64_t *row)
{
	int64_t number, queue_ns, start = row[START], end = row[END];
	struct device *device;
	struct pair *pair;

	if (call->end == UNKNOWN || start == UNKNOWN || end == UNKNOWN)
		return 0;
	latency->ids.width = 2;
	number = ITEM_OF(latency->ids, ((const int64_t[]){call->name, row[NAME]}), latency->pairs,
			 latency->n_pairs, latency->pairs_capacity);
	device = device_of(latency, row[PROCESS], row[DEVICE]);
	if (number < 0 || !device)
		return -ENOMEM;
	pair = &latency->pairs[number];
	pair->n++;
	pair->early += start < call->end;
	device->n++;
	if (call->start != UNKNOWN) {
		if (end - start < call->end - call->start) {
			pair->shorter++;
			device->shorter++;
			device->call_ns += call->end - call->start;
			device->kernel_ns += end - start;
		}
		if (series_push(&pair->call, call->end - call->start))
			return -ENOMEM;
	}
	queue_ns = start - call->end;
	if (series_push(&pair->queue, queue_ns > 0 ? queue_ns : 0))
		return -ENOMEM;
	return series_push(&pair->kernel, end - start);
}

static int add_to_graph(struct latency *latency, const struct call *call, const int64_t *row)
{
	struct graph *graph;
	int64_t number;

	/* The call's begin, too, as ids can begin anew. */
	latency->graph_ids.width = 3;
	number = ids_of(&latency->graph_ids,
			(const int64_t[]){row[PROCESS], row[CORRELATION], call->start});
	if (number < 0)
		return -ENOMEM;
	if ((size_t)number == latency->n_graphs) {
		if (GROW(latency->graphs, latency->n_graphs, latency->graphs_capacity))
			return -ENOMEM;
		graph = &latency->graphs[latency->n_graphs++];
		graph->call = *call;
		graph->row[START] = UNKNOWN;
	}
	graph = &latency->graphs[number];
	if (row[START] != UNKNOWN
	    && (graph->row[START] == UNKNOWN || row[START] < graph->row[START]))
		memcpy(graph->row, row, sizeof graph->row);
	return 0;
}

static int latency_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct latency *latency = state;
	struct call call;

	(void)out;
	if (input == 0)
		return calls_add(&latency->calls, row);
	if (!calls_find(&latency->calls, row[PROCESS], row[CORRELATION], row[START], &call))
		return 0;
	if (row[IS_GRAPH] || call.is_graph)
		return add_to_graph(latency, &call, row);
	return count(latency, &call, row);
}

static int latency_slice(void *state, struct table *out)
{
	struct latency *latency = state;

	(void)out;
	for (size_t i = 0; i < latency->n_graphs; i++) {
		if (count(latency, &latency->graphs[i].call, latency->graphs[i].row))
			return -ENOMEM;
	}
	ids_free(&latency->graph_ids);
	latency->graph_ids = (struct ids){0};
	latency->n_graphs = 0;
	calls_clear(&latency->calls);
	return 0;
}

static int put(const struct series *series, int64_t *row)
{
	double at[] = {0.5, 0.99}, values[] = {NAN, NAN};

	if (series_count(series) && series_quantiles(series, at, 2, values))
		return -ENOMEM;
	row[0] = bits_of(values[0]);
	row[1] = bits_of(values[1]);
	return 0;
}

static int latency_finish(void *state, struct table *out)
{
	struct latency *latency = state;

	if (latency_slice(state, out))
		return -ENOMEM;
	for (size_t i = 0; i < latency->n_pairs; i++) {
		const struct pair *pair = &latency->pairs[i];
		const int64_t *key = ids_key(&latency->ids, i);
		int64_t *row = table_add(&out[PAIRS]);

		if (!row || put(&pair->call, row + 3) || put(&pair->queue, row + 5) ||
		    put(&pair->kernel, row + 7))
			return -ENOMEM;
		row[0] = *ids_key(&latency->calls.names, (size_t)key[0]);
		row[1] = key[1];
		row[2] = pair->n;
		row[9] = pair->early;
		row[10] = pair->shorter;
	}
	for (size_t i = 0; i < latency->n_devices; i++) {
		const struct device *device = &latency->devices[i];
		const int64_t *key = ids_key(&latency->device_ids, i);
		int64_t *row = table_add(&out[DEVICES]);

		if (!row)
			return -ENOMEM;
		row[0] = key[0];
		row[1] = key[1];
		row[2] = device->n;
		row[3] = device->shorter;
		row[4] = device->call_ns;
		row[5] = device->kernel_ns;
	}
	return 0;
}

static void latency_free(void *state)
{
	struct latency *latency = state;

	for (size_t i = 0; i < latency->n_pairs; i++) {
		series_free(&latency->pairs[i].call);
		series_free(&latency->pairs[i].queue);
		series_free(&latency->pairs[i].kernel);
	}
	free(latency->pairs);
	free(latency->graphs);
	free(latency->devices);
	ids_free(&latency->device_ids);
	ids_free(&latency->ids);
	ids_free(&latency->graph_ids);
	calls_free(&latency->calls);
}

const struct operator_kind latency_operator = {
	.name = "latency",
	.n_inputs = 2,
	.widths = {CALL_FIELDS, N_FIELDS},
	.n_outputs = 2,
	.out_widths = {11, 6},
	.state_bytes = sizeof(struct latency),
	.row = latency_row,
	.finish = latency_finish,
	.free = latency_free,
	.slice = latency_slice,
};

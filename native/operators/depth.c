/* queue_depth: how much work was launched ahead of each stream.
 *
 * Rows of input 0: calls (calls.h); of input 1: process, correlation id, start, end (never before
 * it), device, context, stream, 1 if it is of a graph (as are all of a call that launches one).
 * What a graph launch asked for in a stream is on its queue as one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operators/calls.h"
#include "operators/operator.h"
#include "operators/ordered.h"

#define FULL 1024

enum { PROCESS, CORRELATION, START, END, DEVICE, CONTEXT, STREAM, IS_GRAPH, N_FIELDS };

struct stream {
	int64_t *joins, *leaves; /* when an activity is launched, and when it ends */
	size_t n, joins_capacity, leaves_capacity;
};

/* A graph launch in a stream, of which more can come: its stream, and its place in there. */
struct launch {
	size_t stream, place;
	bool is_known;
};

struct depth {
	struct calls calls;
	ITEMS(struct stream) streams;
	ITEMS(struct launch) launches; /* of graphs in the slice */
};

/* The launch that the activity belongs to; NULL where memory is out. */
static struct launch *launch_of(struct depth *depth, const struct call *call, const int64_t *row)
{
	const int64_t key[] = {row[PROCESS], row[CORRELATION], call->start,
			       row[DEVICE],  row[CONTEXT],     row[STREAM]};

	return ITEM_OF(depth->launches, sizeof key / sizeof *key, key);
}

static int depth_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct depth *depth = state;
	struct launch *launch = NULL;
	struct stream *stream;
	struct call call;
	int64_t joins;

	(void)out;
	if (input == 0)
		return calls_add(&depth->calls, row);
	if (!calls_find(&depth->calls, row[PROCESS], row[CORRELATION], row[START], &call) ||
	    call.end == UNKNOWN)
		return 0;
	joins = call.end < row[START] ? call.end : row[START];
	if (row[IS_GRAPH] || call.is_graph) {
		launch = launch_of(depth, &call, row);
		if (!launch)
			return -ENOMEM;
		if (launch->is_known) {
			stream = &depth->streams.all[launch->stream];
			if (joins < stream->joins[launch->place])
				stream->joins[launch->place] = joins;
			if (row[END] > stream->leaves[launch->place])
				stream->leaves[launch->place] = row[END];
			return 0;
		}
	}
	stream = ITEM_OF(depth->streams, 4,
			 ((const int64_t[]){row[PROCESS], row[DEVICE], row[CONTEXT], row[STREAM]}));
	if (!stream)
		return -ENOMEM;
	if (launch)
		*launch = (struct launch){(size_t)(stream - depth->streams.all), stream->n, true};
	if (GROW(stream->joins, stream->n, stream->joins_capacity) ||
	    GROW(stream->leaves, stream->n, stream->leaves_capacity))
		return -ENOMEM;
	stream->joins[stream->n] = joins;
	stream->leaves[stream->n++] = row[END];
	return 0;
}

static int depth_slice(void *state, struct table *out)
{
	struct depth *depth = state;

	(void)out;
	ids_clear(&depth->launches.ids);
	calls_clear(&depth->calls);
	return 0;
}

/* The operator over both, which are in order; what joins at the moment that something leaves comes
 * first. */
static void describe(const struct stream *stream, int64_t *row)
{
	__extension__ typedef __int128 wide;
	wide depth_ns = 0;
	int64_t depth = 0, most = 0, empty_ns = 0, full_ns = 0, before = stream->joins[0];
	int64_t span_ns = stream->leaves[stream->n - 1] - before;
	size_t joined = 0;

	for (size_t left = 0; left < stream->n;) {
		bool joins = joined < stream->n && stream->joins[joined] <= stream->leaves[left];
		int64_t now = joins ? stream->joins[joined++] : stream->leaves[left++];

		depth_ns += (wide)depth * (now - before);
		empty_ns += depth == 0 ? now - before : 0;
		full_ns += depth >= FULL ? now - before : 0;
		before = now;
		depth += joins ? 1 : -1;
		most = depth > most ? depth : most;
	}
	row[4] = (int64_t)stream->n;
	/* 0 / 0 is NaN, which is NULL. */
	row[5] = bits_of((double)depth_ns / (double)span_ns);
	row[6] = most;
	row[7] = empty_ns;
	row[8] = full_ns;
	row[9] = span_ns;
}

static int depth_finish(void *state, struct table *out)
{
	struct depth *depth = state;

	calls_free(&depth->calls);
	for (size_t i = 0; i < depth->streams.ids.n; i++) {
		struct stream *stream = &depth->streams.all[i];
		int64_t *row = table_add(out);

		if (!row || sort_numbers(stream->joins, stream->n) ||
		    sort_numbers(stream->leaves, stream->n))
			return -ENOMEM;
		memcpy(row, ids_key(&depth->streams.ids, i), 4 * sizeof *row);
		describe(stream, row);
		free(stream->joins);
		free(stream->leaves);
		*stream = (struct stream){0};
	}
	return 0;
}

static void depth_free(void *state)
{
	struct depth *depth = state;

	for (size_t i = 0; i < depth->streams.ids.n; i++) {
		free(depth->streams.all[i].joins);
		free(depth->streams.all[i].leaves);
	}
	FREE_ITEMS(depth->streams);
	FREE_ITEMS(depth->launches);
	calls_free(&depth->calls);
}

const struct operator_kind depth_operator = {
	.name = "depth",
	.widths = {CALL_FIELDS, N_FIELDS},
	.out_widths = {10},
	.state_bytes = sizeof(struct depth),
	.row = depth_row,
	.finish = depth_finish,
	.free = depth_free,
	.slice = depth_slice,
};

/* queue_depth: how much work was launched ahead of each stream.
 *
 * Rows of input 0: calls (calls.h); of input 1: process, correlation id, start, end (never before
 * it), device, context, stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/calls.h"

#define FULL 1024

struct stream {
	int64_t *joins, *leaves; /* when an activity is launched, and when it ends */
	size_t n, joins_capacity, leaves_capacity;
};

struct depth {
	struct calls calls;
	struct ids ids;
	struct stream *streams;
	size_t n_streams, capacity;
};

static int depth_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct depth *depth = state;
	struct stream *stream;
	struct call call;
	int64_t number;

	(void)out;
	if (input == 0)
		return calls_add(&depth->calls, row);
	if (!calls_find(&depth->calls, row[0], row[1], row[2], &call) || call.end == UNKNOWN)
		return 0;
	depth->ids.width = 4;
	number = ITEM_OF(depth->ids, ((const int64_t[]){row[0], row[4], row[5], row[6]}),
			 depth->streams, depth->n_streams, depth->capacity);
	if (number < 0)
		return -ENOMEM;
	stream = &depth->streams[number];
	if (GROW(stream->joins, stream->n, stream->joins_capacity) ||
	    GROW(stream->leaves, stream->n, stream->leaves_capacity))
		return -ENOMEM;
	stream->joins[stream->n] = call.end < row[2] ? call.end : row[2];
	stream->leaves[stream->n++] = row[3];
	return 0;
}

static int depth_slice(void *state, struct table *out)
{
	struct depth *depth = state;

	(void)out;
	calls_clear(&depth->calls);
	return 0;
}

/* The sweep over both, which are in order; what joins at the moment that something leaves comes
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

	calls_clear(&depth->calls);
	for (size_t i = 0; i < depth->n_streams; i++) {
		struct stream *stream = &depth->streams[i];
		int64_t *row = table_add(out);

		if (!row || sort_rows(stream->joins, stream->n, 1) ||
		    sort_rows(stream->leaves, stream->n, 1))
			return -ENOMEM;
		memcpy(row, ids_key(&depth->ids, i), 4 * sizeof *row);
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

	for (size_t i = 0; i < depth->n_streams; i++) {
		free(depth->streams[i].joins);
		free(depth->streams[i].leaves);
	}
	free(depth->streams);
	ids_free(&depth->ids);
	calls_free(&depth->calls);
}

const struct sweep_kind depth_sweep = {
	.name = "depth",
	.n_inputs = 2,
	.widths = {CALL_FIELDS, 7},
	.n_outputs = 1,
	.out_widths = {10},
	.state_bytes = sizeof(struct depth),
	.row = depth_row,
	.finish = depth_finish,
	.free = depth_free,
	.slice = depth_slice,
};

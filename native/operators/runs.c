/* _kernel_run: runs of two to five kernels that follow one another in a stream, counted.
 *
 * Rows: start, end, process, context, stream, a number that stands for the name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/ids.h"
#include "operators/operator.h"

#define SHORTEST 2
#define LONGEST 5
#define N_LENGTHS (LONGEST - SHORTEST + 1)
#define KEY 3 /* names, 32 bits each, and the length */

struct kernel {
	uint32_t name;
	int64_t start, end;
};

struct stream {
	struct kernel last[LONGEST]; /* the newest first */
	unsigned n;
	int64_t guess[N_LENGTHS]; /* the run that the stream was in before, by length */
};

struct run {
	int64_t count, kernels_ns, gaps_ns;
	int64_t next; /* the run that came after this one last time: most often it does again */
};

struct runs {
	struct ids streams, names, ids;
	struct stream *states;
	struct run *all;
	size_t n_states, states_capacity, n_all, all_capacity;
};

static void key_of(const struct stream *stream, unsigned length, int64_t *key)
{
	uint32_t parts[2 * KEY] = {length};

	for (unsigned i = 0; i < length; i++)
		parts[1 + i] = stream->last[length - 1 - i].name;
	memcpy(key, parts, sizeof parts);
}

static int64_t run_of(struct runs *runs, struct stream *stream, unsigned length)
{
	int64_t before = stream->guess[length - SHORTEST], key[KEY], run;

	key_of(stream, length, key);
	if (before >= 0) {
		run = runs->all[before].next;
		if (run >= 0 && memcmp(ids_key(&runs->ids, (size_t)run), key, sizeof key) == 0)
			return run;
	}
	run = ids_of(&runs->ids, key);
	if (run < 0)
		return run;
	if ((size_t)run == runs->n_all) {
		if (GROW(runs->all, runs->n_all, runs->all_capacity))
			return -ENOMEM;
		runs->all[runs->n_all++] = (struct run){.next = -1};
	}
	if (before >= 0)
		runs->all[before].next = run;
	return run;
}

static int runs_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct runs *runs = state;
	struct stream *stream;
	int64_t number, name, kernels_ns, gaps_ns = 0;

	(void)input;
	(void)out;
	runs->streams.width = 3;
	runs->names.width = 1;
	runs->ids.width = KEY;
	number = ids_of(&runs->streams, row + 2);
	name = ids_of(&runs->names, row + 5);
	if (number < 0 || name < 0)
		return -ENOMEM;
	if ((size_t)number == runs->n_states) {
		if (GROW(runs->states, runs->n_states, runs->states_capacity))
			return -ENOMEM;
		runs->states[runs->n_states++] = (struct stream){.guess = {-1, -1, -1, -1}};
	}
	stream = &runs->states[number];
	memmove(stream->last + 1, stream->last, (LONGEST - 1) * sizeof *stream->last);
	stream->last[0] = (struct kernel){(uint32_t)name, row[0], row[1]};
	stream->n += stream->n < LONGEST;
	kernels_ns = row[1] - row[0];
	for (unsigned length = SHORTEST; length <= stream->n; length++) {
		const struct kernel *first = &stream->last[length - 1], *second = first - 1;
		int64_t run = run_of(runs, stream, length);

		if (run < 0)
			return -ENOMEM;
		stream->guess[length - SHORTEST] = run;
		kernels_ns += first->end - first->start;
		gaps_ns += second->start > first->end ? second->start - first->end : 0;
		runs->all[run].count++;
		runs->all[run].kernels_ns += kernels_ns;
		runs->all[run].gaps_ns += gaps_ns;
	}
	return 0;
}

static int runs_finish(void *state, struct table *out)
{
	struct runs *runs = state;

	for (size_t i = 0; i < runs->n_all; i++) {
		int64_t *row = table_add(out);
		uint32_t parts[2 * KEY];

		if (!row)
			return -ENOMEM;
		memcpy(parts, ids_key(&runs->ids, i), sizeof parts);
		row[0] = parts[0];
		for (unsigned n = 0; n < LONGEST; n++)
			row[1 + n] = n < parts[0] ? *ids_key(&runs->names, parts[1 + n]) : 0;
		row[6] = runs->all[i].count;
		row[7] = runs->all[i].kernels_ns;
		row[8] = runs->all[i].gaps_ns;
	}
	return 0;
}

static void runs_free(void *state)
{
	struct runs *runs = state;

	free(runs->states);
	free(runs->all);
	ids_free(&runs->streams);
	ids_free(&runs->names);
	ids_free(&runs->ids);
}

const struct operator_kind run_operator = {
	.name = "run",
	.n_inputs = 1,
	.widths = {6},
	.ordered = 1,
	.n_outputs = 1,
	.out_widths = {9},
	.state_bytes = sizeof(struct runs),
	.row = runs_row,
	.finish = runs_finish,
	.free = runs_free,
};

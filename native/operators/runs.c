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
	int64_t guess[N_LENGTHS]; /* the run that the stream was in before, by length; 0: none */
};

struct run {
	int64_t count, kernels_ns, gaps_ns;
	int64_t next; /* number of the run that came after this one last time: most often it does again */
};

struct runs {
	struct ids names;
	ITEMS(struct stream) streams;
	ITEMS(struct run) runs;
};

static void key_of(const struct stream *stream, unsigned length, int64_t *key)
{
	uint32_t parts[2 * KEY] = {length};

	for (unsigned i = 0; i < length; i++)
		parts[1 + i] = stream->last[length - 1 - i].name;
	memcpy(key, parts, sizeof parts);
}

/* The run's number, from 1; -ENOMEM. */
static int64_t run_of(struct runs *runs, struct stream *stream, unsigned length)
{
	int64_t before = stream->guess[length - SHORTEST], key[KEY], run;
	struct run *found;

	key_of(stream, length, key);
	if (before) {
		run = runs->runs.all[before - 1].next;
		if (run && memcmp(ids_key(&runs->runs.ids, (size_t)run - 1), key, sizeof key) == 0)
			return run;
	}
	found = ITEM_OF(runs->runs, KEY, key);
	if (!found)
		return -ENOMEM;
	run = found - runs->runs.all + 1;
	if (before)
		runs->runs.all[before - 1].next = run;
	return run;
}

static int runs_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct runs *runs = state;
	struct stream *stream = ITEM_OF(runs->streams, 3, row + 2);
	int64_t name, kernels_ns, gaps_ns = 0;

	(void)input;
	(void)out;
	runs->names.width = 1;
	name = ids_of(&runs->names, row + 5);
	if (!stream || name < 0)
		return -ENOMEM;
	memmove(stream->last + 1, stream->last, (LONGEST - 1) * sizeof *stream->last);
	stream->last[0] = (struct kernel){(uint32_t)name, row[0], row[1]};
	stream->n += stream->n < LONGEST;
	kernels_ns = row[1] - row[0];
	for (unsigned length = SHORTEST; length <= stream->n; length++) {
		const struct kernel *first = &stream->last[length - 1], *second = first - 1;
		int64_t number = run_of(runs, stream, length);
		struct run *run;

		if (number < 0)
			return -ENOMEM;
		stream->guess[length - SHORTEST] = number;
		run = &runs->runs.all[number - 1];
		kernels_ns += first->end - first->start;
		gaps_ns += second->start > first->end ? second->start - first->end : 0;
		run->count++;
		run->kernels_ns += kernels_ns;
		run->gaps_ns += gaps_ns;
	}
	return 0;
}

static int runs_finish(void *state, struct table *out)
{
	struct runs *runs = state;

	for (size_t i = 0; i < runs->runs.ids.n; i++) {
		const struct run *run = &runs->runs.all[i];
		int64_t *row = table_add(out);
		uint32_t parts[2 * KEY];

		if (!row)
			return -ENOMEM;
		memcpy(parts, ids_key(&runs->runs.ids, i), sizeof parts);
		row[0] = parts[0];
		for (unsigned n = 0; n < LONGEST; n++)
			row[1 + n] = n < parts[0] ? *ids_key(&runs->names, parts[1 + n]) : 0;
		row[6] = run->count;
		row[7] = run->kernels_ns;
		row[8] = run->gaps_ns;
	}
	return 0;
}

static void runs_free(void *state)
{
	struct runs *runs = state;

	FREE_ITEMS(runs->streams);
	FREE_ITEMS(runs->runs);
	ids_free(&runs->names);
}

const struct operator_kind run_operator = {
	.name = "run",
	.widths = {6},
	.ordered = 1,
	.keys = 2,
	.out_widths = {9},
	.state_bytes = sizeof(struct runs),
	.row = runs_row,
	.finish = runs_finish,
	.free = runs_free,
};

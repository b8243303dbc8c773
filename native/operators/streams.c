/* _running_kernels and _stream_pair: how many kernels and streams of a GPU were at work at once, and
 * for how long two streams were.
 *
 * Rows: start, end (never before it), GPU, process, context, stream, 1 of a kernel; UNKNOWN for
 * NULL.  When a stream falls idle, its time beside each stream that goes on is known: pairs cost as
 * much as streams are at work at once, however many there are. */
#include <errno.h>
#include <stdlib.h>

#include "arrow/ids.h"
#include "arrow/heap.h"
#include "operators/operator.h"

enum { START, END, GPU, PROCESS, CONTEXT, STREAM, IS_KERNEL, N_FIELDS };
enum { AT_ONCE, STREAMS, PAIRS };
#define KEY_FIELDS 4 /* of a stream, from GPU on */

struct stream {
	int64_t running, kernels; /* activities, and kernels among them */
	int64_t since, busy_ns;
	size_t place; /* among those at work, while it is */
};

struct gpu {
	struct heap running; /* what: number of the stream, twice, and 1 of a kernel */
	int64_t kernels, streams; /* kernels that run, and streams that run one */
	int64_t seen_ns;	  /* up to here at_once is counted */
	bool has_kernels;
	int64_t *working; /* numbers of the streams at work */
	size_t n_working, capacity;
};

/* Sums of time, each of a key. */
struct sums {
	ITEMS(int64_t) ns;
};

struct streams {
	ITEMS(struct gpu) gpus;
	ITEMS(struct stream) streams;
	struct sums at_once; /* by GPU, kernels and streams */
	struct sums pairs;   /* by the numbers of two streams, the smaller first */
};

static int add_to(struct sums *sums, unsigned width, const int64_t *key, int64_t ns)
{
	int64_t *sum = ns > 0 ? ITEM_OF(sums->ns, width, key) : NULL;

	if (sum)
		*sum += ns;
	return sum || ns <= 0 ? 0 : -ENOMEM;
}

/* Time goes on to `now` with as many kernels as run. */
static int pass(struct streams *all, int64_t number, int64_t now)
{
	struct gpu *gpu = &all->gpus.all[number];
	int64_t key[] = {*ids_key(&all->gpus.ids, (size_t)number), gpu->kernels, gpu->streams};
	int64_t ns = now - gpu->seen_ns;

	gpu->seen_ns = now;
	return add_to(&all->at_once, 3, key, ns);
}

static int begin_work(struct streams *all, struct gpu *gpu, int64_t number, int64_t now)
{
	struct stream *stream = &all->streams.all[number];

	if (GROW(gpu->working, gpu->n_working, gpu->capacity))
		return -ENOMEM;
	stream->since = now;
	stream->place = gpu->n_working;
	gpu->working[gpu->n_working++] = number;
	return 0;
}

static int end_work(struct streams *all, struct gpu *gpu, int64_t number, int64_t now)
{
	struct stream *stream = &all->streams.all[number];
	int64_t last = gpu->working[--gpu->n_working];

	stream->busy_ns += now - stream->since;
	gpu->working[stream->place] = last;
	all->streams.all[last].place = stream->place;
	for (size_t i = 0; i < gpu->n_working; i++) {
		int64_t other = gpu->working[i], since = all->streams.all[other].since;
		int64_t key[] = {number < other ? number : other, number < other ? other : number};

		if (add_to(&all->pairs, 2, key, now - (since > stream->since ? since : stream->since)))
			return -ENOMEM;
	}
	return 0;
}

/* What ends up to `now` does. */
static int end_until(struct streams *all, int64_t gpu_number, int64_t now)
{
	struct gpu *gpu = &all->gpus.all[gpu_number];

	while (gpu->running.n && gpu->running.items[0].end <= now) {
		struct running ended = heap_pop(&gpu->running);
		struct stream *stream = &all->streams.all[ended.what >> 1];

		if (ended.what & 1) {
			if (pass(all, gpu_number, ended.end))
				return -ENOMEM;
			gpu->kernels--;
			gpu->streams -= --stream->kernels == 0;
		}
		if (--stream->running == 0 && end_work(all, gpu, ended.what >> 1, ended.end))
			return -ENOMEM;
	}
	return 0;
}

static int streams_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct streams *all = state;
	struct gpu *gpu = ITEM_OF(all->gpus, 1, row + GPU);
	struct stream *stream = ITEM_OF(all->streams, KEY_FIELDS, row + GPU);
	int64_t gpu_number, number;

	(void)input;
	(void)out;
	if (!gpu || !stream)
		return -ENOMEM;
	gpu_number = gpu - all->gpus.all;
	number = stream - all->streams.all;
	if (end_until(all, gpu_number, row[START]))
		return -ENOMEM;
	if (!stream->running++ && begin_work(all, gpu, number, row[START]))
		return -ENOMEM;
	if (row[IS_KERNEL]) {
		if (!gpu->has_kernels)
			gpu->seen_ns = row[START];
		gpu->has_kernels = true;
		if (pass(all, gpu_number, row[START]))
			return -ENOMEM;
		gpu->kernels++;
		gpu->streams += !stream->kernels++;
	}
	return heap_push(&gpu->running, row[END], number << 1 | (row[IS_KERNEL] != 0));
}

static int put(const struct sums *sums, struct table *out)
{
	for (size_t i = 0; i < sums->ns.ids.n; i++) {
		int64_t *row = table_add(out);

		if (!row)
			return -ENOMEM;
		for (unsigned k = 0; k < sums->ns.ids.width; k++)
			row[k] = ids_key(&sums->ns.ids, i)[k];
		row[sums->ns.ids.width] = sums->ns.all[i];
	}
	return 0;
}

static int streams_finish(void *state, struct table *out)
{
	struct streams *all = state;

	for (size_t i = 0; i < all->gpus.ids.n; i++)
		if (end_until(all, (int64_t)i, INT64_MAX))
			return -ENOMEM;
	for (size_t i = 0; i < all->streams.ids.n; i++) {
		int64_t *row = table_add(&out[STREAMS]);

		if (!row)
			return -ENOMEM;
		row[0] = (int64_t)i;
		for (unsigned k = 0; k < KEY_FIELDS; k++)
			row[1 + k] = ids_key(&all->streams.ids, i)[k];
		row[1 + KEY_FIELDS] = all->streams.all[i].busy_ns;
	}
	return put(&all->at_once, &out[AT_ONCE]) || put(&all->pairs, &out[PAIRS]) ? -ENOMEM : 0;
}

static void streams_free(void *state)
{
	struct streams *all = state;

	for (size_t i = 0; i < all->gpus.ids.n; i++) {
		free(all->gpus.all[i].running.items);
		free(all->gpus.all[i].working);
	}
	FREE_ITEMS(all->gpus);
	FREE_ITEMS(all->streams);
	FREE_ITEMS(all->at_once.ns);
	FREE_ITEMS(all->pairs.ns);
}

const struct operator_kind streams_operator = {
	.name = "streams",
	.widths = {N_FIELDS},
	.ordered = 1,
	.keys = 2,
	.out_widths = {4, 2 + KEY_FIELDS, 3},
	.state_bytes = sizeof(struct streams),
	.row = streams_row,
	.finish = streams_finish,
	.free = streams_free,
};

/* busy_interval, work_length and concurrency: unions of sets of work, and kernels at once.
 *
 * Rows: start, end (never before it), GPU, category (0 compute, 1 communication, 2 copy), 1 of a
 * kernel. */
#include <errno.h>
#include <stdlib.h>

#include "sweeps/sweep.h"

/* A set of work is the bits of its categories. */
#define COMPUTE 1
#define COMMUNICATION 2
#define N_SETS 8
#define EVERYTHING (N_SETS - 1)

enum { INTERVALS, LENGTHS, AT_ONCE };

struct set {
	int64_t start, until, before;
	bool is_open;
};

struct gpu {
	struct set sets[N_SETS];
	struct heap kernels;
	int64_t seen_ns; /* up to here at_once is counted */
	bool has_kernels;
	int64_t *at_once; /* ns, by how many ran */
	size_t n_at_once, capacity;
};

struct busy {
	struct ids ids;
	struct gpu *gpus;
	size_t n_gpus, capacity;
};

/* The sets whose intervals are wanted, and not their length alone. */
static bool is_listed(unsigned set)
{
	return set == COMPUTE || set == (COMPUTE | COMMUNICATION) || set == EVERYTHING;
}

static int end_interval(struct set *set, unsigned number, int64_t gpu, struct table *out)
{
	if (is_listed(number)) {
		int64_t *row = table_add(&out[INTERVALS]);

		if (!row)
			return -ENOMEM;
		row[0] = gpu;
		row[1] = number;
		row[2] = set->start;
		row[3] = set->until;
		row[4] = set->before;
	}
	set->before += set->until - set->start;
	return 0;
}

/* Time goes on to `now` with as many kernels as run. */
static int pass(struct gpu *gpu, int64_t now)
{
	while (gpu->n_at_once <= gpu->kernels.n) {
		if (GROW(gpu->at_once, gpu->n_at_once, gpu->capacity))
			return -ENOMEM;
		gpu->at_once[gpu->n_at_once++] = 0;
	}
	gpu->at_once[gpu->kernels.n] += now - gpu->seen_ns;
	gpu->seen_ns = now;
	return 0;
}

/* The kernels end that do so up to `now`. */
static int end_kernels(struct gpu *gpu, int64_t now)
{
	while (gpu->kernels.n && gpu->kernels.items[0].end <= now) {
		if (pass(gpu, gpu->kernels.items[0].end))
			return -ENOMEM;
		heap_pop(&gpu->kernels);
	}
	return 0;
}

static struct gpu *gpu_of(struct busy *busy, int64_t key)
{
	int64_t number;

	busy->ids.width = 1;
	number = ids_of(&busy->ids, &key);
	if (number < 0)
		return NULL;
	if ((size_t)number == busy->n_gpus) {
		if (GROW(busy->gpus, busy->n_gpus, busy->capacity))
			return NULL;
		busy->gpus[busy->n_gpus++] = (struct gpu){0};
	}
	return &busy->gpus[number];
}

static int busy_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct gpu *gpu = gpu_of(state, row[2]);
	int64_t start = row[0], end = row[1];

	(void)input;
	if (!gpu || row[3] < 0 || row[3] > 2)
		return gpu ? -EINVAL : -ENOMEM;
	for (unsigned number = 1; number < N_SETS; number++) {
		struct set *set = &gpu->sets[number];

		if (!(number >> row[3] & 1))
			continue;
		if (set->is_open && start <= set->until) {
			set->until = end > set->until ? end : set->until;
			continue;
		}
		if (set->is_open && end_interval(set, number, row[2], out))
			return -ENOMEM;
		set->start = start;
		set->until = end;
		set->is_open = true;
	}
	if (!row[4])
		return 0;
	if (!gpu->has_kernels)
		gpu->seen_ns = start;
	gpu->has_kernels = true;
	if (end_kernels(gpu, start) || pass(gpu, start))
		return -ENOMEM;
	return heap_push(&gpu->kernels, end, 0);
}

static int busy_finish(void *state, struct table *out)
{
	struct busy *busy = state;

	for (size_t i = 0; i < busy->n_gpus; i++) {
		struct gpu *gpu = &busy->gpus[i];
		int64_t key = *ids_key(&busy->ids, i), *row;

		for (unsigned number = 1; number < N_SETS; number++) {
			struct set *set = &gpu->sets[number];

			if (!set->is_open)
				continue;
			row = table_add(&out[LENGTHS]);
			if (!row || end_interval(set, number, key, out))
				return -ENOMEM;
			row[0] = key;
			row[1] = number;
			row[2] = set->before;
		}
		if (end_kernels(gpu, INT64_MAX))
			return -ENOMEM;
		for (size_t n = 0; n < gpu->n_at_once; n++) {
			if (!gpu->at_once[n])
				continue;
			row = table_add(&out[AT_ONCE]);
			if (!row)
				return -ENOMEM;
			row[0] = key;
			row[1] = (int64_t)n;
			row[2] = gpu->at_once[n];
		}
	}
	return 0;
}

static void busy_free(void *state)
{
	struct busy *busy = state;

	for (size_t i = 0; i < busy->n_gpus; i++) {
		free(busy->gpus[i].kernels.items);
		free(busy->gpus[i].at_once);
	}
	free(busy->gpus);
	ids_free(&busy->ids);
}

const struct sweep_kind busy_sweep = {
	.name = "busy",
	.n_inputs = 1,
	.widths = {5},
	.ordered = 1,
	.n_outputs = 3,
	.out_widths = {5, 3, 3},
	.state_bytes = sizeof(struct busy),
	.row = busy_row,
	.finish = busy_finish,
	.free = busy_free,
};

/* _gap_edge: the times in which a GPU had nothing to do, with what ended and what began there, and
 * which was the first call for what its process did then or later.
 *
 * Rows of input 0, in the order of time: GPU, from when and until when not all was recorded.  Of input
 * 1: start, end (never before it), GPU, kind (a number in the order of the kinds' names), process,
 * stream, correlation id, a number that stands for the name; UNKNOWN for NULL. */
#include <errno.h>
#include <stdlib.h>

#include "arrow/ids.h"
#include "operators/operator.h"

enum { OFF_GPU, OFF_START, OFF_END, OFF_FIELDS };
enum { START, END, GPU, KIND, PROCESS, STREAM, CORRELATION, NAME, N_FIELDS };
/* A gap, and of gaps after which of several names the first is wanted, those names. */
enum { GAPS, TIES };
enum { GAP_GPU, GAP_START, GAP_END, BEFORE_KIND, BEFORE_NAME, NEXT_KIND, NEXT_NAME, NEXT_PROCESS,
       NEXT_STREAM, NEXT_CORRELATION, FIRST_CORRELATION, GAP_FIELDS };

struct ender {
	int64_t kind, name;
};

struct off {
	int64_t start, end;
};

struct gpu {
	struct off *offs; /* apart from each other */
	size_t n_offs, offs_capacity, off; /* the one that was looked at last */
	int64_t until;
	struct ender *enders; /* activities that ended then */
	size_t n_enders, capacity;
	size_t gap; /* number of the gap that ended last, from 1; 0: none */
	size_t n_gaps, n_told; /* how many there were, and have their first call */
	bool is_open;
};

/* Gaps of a GPU, one after another, after which the first call of a process is the same. */
struct firsts {
	int64_t correlation;
	size_t until; /* its last, counted from 1 */
};

/* What a process does on a GPU. */
struct user {
	/* The smallest correlation id from each gap on: none is smaller than one before. */
	struct firsts *firsts;
	size_t n, capacity, told;
};

struct edges {
	ITEMS(struct gpu) gpus;
	ITEMS(struct user) users;
};

static int add_off(struct gpu *gpu, const int64_t *row)
{
	if (GROW(gpu->offs, gpu->n_offs, gpu->offs_capacity))
		return -ENOMEM;
	gpu->offs[gpu->n_offs++] = (struct off){row[OFF_START], row[OFF_END]};
	return 0;
}

/* Whether all was recorded in a time after those that were asked for before. */
static bool is_recorded(struct gpu *gpu, int64_t start, int64_t end)
{
	const struct off *off;

	while (gpu->off + 1 < gpu->n_offs && gpu->offs[gpu->off + 1].start < end)
		gpu->off++;
	off = gpu->offs + gpu->off;
	return !gpu->n_offs || off->start >= end || off->end <= start;
}

static int begin_gap(struct gpu *gpu, const int64_t *row, struct table *out)
{
	int64_t *gap = table_add(&out[GAPS]);
	const struct ender *best = NULL;
	bool is_tied = false;

	if (!gap)
		return -ENOMEM;
	gpu->gap = out[GAPS].n;
	gpu->n_gaps++;
	gap[GAP_GPU] = row[GPU];
	gap[GAP_START] = gpu->until;
	gap[GAP_END] = row[START];
	gap[BEFORE_KIND] = gpu->enders[0].kind;
	for (size_t i = 0; i < gpu->n_enders; i++) {
		const struct ender *ender = &gpu->enders[i];

		if (ender->kind < gap[BEFORE_KIND])
			gap[BEFORE_KIND] = ender->kind;
		if (ender->name == UNKNOWN)
			continue;
		if (!best || ender->kind < best->kind) {
			best = ender;
			is_tied = false;
		} else if (ender->kind == best->kind && ender->name != best->name) {
			is_tied = true;
		}
	}
	gap[BEFORE_NAME] = best ? best->name : UNKNOWN;
	for (size_t i = 0; is_tied && i < gpu->n_enders; i++) {
		if (gpu->enders[i].kind != best->kind || gpu->enders[i].name == UNKNOWN)
			continue;
		if (TABLE_PUT(&out[TIES], (int64_t)gpu->gap - 1, gpu->enders[i].name))
			return -ENOMEM;
	}
	gap[NEXT_KIND] = gap[FIRST_CORRELATION] = UNKNOWN;
	return 0;
}

/* The activity began at the end of the gap: the first by process, stream and call is named. */
static void name_next(int64_t *gap, const int64_t *row)
{
	int order = gap[NEXT_KIND] == UNKNOWN ? -1 : compare_known(row[PROCESS], gap[NEXT_PROCESS]);

	if (order == 0)
		order = compare_known(row[STREAM], gap[NEXT_STREAM]);
	if (order == 0)
		order = compare_known(row[CORRELATION], gap[NEXT_CORRELATION]);
	if (order >= 0)
		return;
	gap[NEXT_KIND] = row[KIND];
	gap[NEXT_NAME] = row[NAME];
	gap[NEXT_PROCESS] = row[PROCESS];
	gap[NEXT_STREAM] = row[STREAM];
	gap[NEXT_CORRELATION] = row[CORRELATION];
}

/* An activity: it comes after all gaps up to now. */
static int add_call(struct edges *edges, const struct gpu *gpu, const int64_t *row)
{
	int64_t key[] = {row[GPU], row[PROCESS]};
	struct user *user;
	size_t n;

	if (!gpu->n_gaps || row[PROCESS] == UNKNOWN || row[CORRELATION] == UNKNOWN)
		return 0;
	user = ITEM_OF(edges->users, 2, key);
	if (!user)
		return -ENOMEM;
	n = user->n;
	while (n && user->firsts[n - 1].correlation >= row[CORRELATION])
		n--;
	if (n == user->n && n && user->firsts[n - 1].until == gpu->n_gaps)
		return 0;
	user->n = n;
	if (GROW(user->firsts, user->n, user->capacity))
		return -ENOMEM;
	user->firsts[user->n++] = (struct firsts){row[CORRELATION], gpu->n_gaps};
	return 0;
}

static int edges_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct edges *edges = state;
	struct gpu *gpu = ITEM_OF(edges->gpus, 1, row + (input ? GPU : OFF_GPU));

	if (!gpu)
		return -ENOMEM;
	if (!input)
		return add_off(gpu, row);
	if (gpu->is_open && row[START] > gpu->until) {
		gpu->gap = 0;
		if (is_recorded(gpu, gpu->until, row[START]) && begin_gap(gpu, row, out))
			return -ENOMEM;
	}
	if (gpu->gap) {
		int64_t *gap = out[GAPS].rows + (gpu->gap - 1) * GAP_FIELDS;

		if (gap[GAP_END] == row[START])
			name_next(gap, row);
	}
	if (!gpu->is_open || row[END] > gpu->until) {
		gpu->until = row[END];
		gpu->n_enders = 0;
	}
	gpu->is_open = true;
	if (add_call(edges, gpu, row))
		return -ENOMEM;
	if (row[END] < gpu->until)
		return 0;
	if (GROW(gpu->enders, gpu->n_enders, gpu->capacity))
		return -ENOMEM;
	gpu->enders[gpu->n_enders++] = (struct ender){row[KIND], row[NAME]};
	return 0;
}

static int edges_finish(void *state, struct table *out)
{
	struct edges *edges = state;

	for (size_t i = 0; i < out[GAPS].n; i++) {
		int64_t *gap = out[GAPS].rows + i * GAP_FIELDS;
		int64_t key[] = {gap[GAP_GPU], gap[NEXT_PROCESS]};
		struct gpu *gpu = ITEM_OF(edges->gpus, 1, key);
		int64_t number = ids_find(&edges->users.ids, key);
		struct user *user;

		if (!gpu)
			return -ENOMEM;
		gpu->n_told++;
		if (number < 0)
			continue;
		user = &edges->users.all[number];
		while (user->told < user->n && user->firsts[user->told].until < gpu->n_told)
			user->told++;
		if (user->told < user->n)
			gap[FIRST_CORRELATION] = user->firsts[user->told].correlation;
	}
	return 0;
}

static void edges_free(void *state)
{
	struct edges *edges = state;

	for (size_t i = 0; i < edges->users.ids.n; i++)
		free(edges->users.all[i].firsts);
	FREE_ITEMS(edges->users);

	for (size_t i = 0; i < edges->gpus.ids.n; i++) {
		free(edges->gpus.all[i].offs);
		free(edges->gpus.all[i].enders);
	}
	FREE_ITEMS(edges->gpus);
}

const struct operator_kind edge_operator = {
	.name = "edge",
	.widths = {OFF_FIELDS, N_FIELDS},
	.ordered = 1 << 1,
	.keys = 2,
	.out_widths = {GAP_FIELDS, 2},
	.state_bytes = sizeof(struct edges),
	.row = edges_row,
	.finish = edges_finish,
	.free = edges_free,
};

/* _busy_interval and _work_length: unions of sets of work.
 *
 * Rows: start, end (never before it), GPU, category (0 compute, 1 communication, 2 copy). */
#include <errno.h>
#include <stdlib.h>

#include "arrow/ids.h"
#include "operators/operator.h"

/* A set of work is the bits of its categories. */
#define COMPUTE 1
#define COMMUNICATION 2
#define N_SETS 8
#define EVERYTHING (N_SETS - 1)

enum { INTERVALS, LENGTHS };

struct set {
	int64_t start, until, before;
	bool is_open;
};

struct gpu {
	struct set sets[N_SETS];
};

struct busy {
	ITEMS(struct gpu) gpus;
};

/* The sets whose intervals are wanted, and not their length alone. */
static bool is_listed(unsigned set)
{
	return set == COMPUTE || set == (COMPUTE | COMMUNICATION) || set == EVERYTHING;
}

static int end_interval(struct set *set, unsigned number, int64_t gpu, struct table *out)
{
	if (is_listed(number) &&
	    TABLE_PUT(&out[INTERVALS], gpu, number, set->start, set->until, set->before))
		return -ENOMEM;
	set->before += set->until - set->start;
	return 0;
}

static int busy_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct busy *busy = state;
	struct gpu *gpu = ITEM_OF(busy->gpus, 1, row + 2);
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
	return 0;
}

static int busy_finish(void *state, struct table *out)
{
	struct busy *busy = state;

	for (size_t i = 0; i < busy->gpus.ids.n; i++) {
		struct gpu *gpu = &busy->gpus.all[i];
		int64_t key = *ids_key(&busy->gpus.ids, i);

		for (unsigned number = 1; number < N_SETS; number++) {
			struct set *set = &gpu->sets[number];

			if (!set->is_open)
				continue;
			if (end_interval(set, number, key, out) ||
			    TABLE_PUT(&out[LENGTHS], key, number, set->before))
				return -ENOMEM;
		}
	}
	return 0;
}

static void busy_free(void *state)
{
	struct busy *busy = state;

	FREE_ITEMS(busy->gpus);
}

const struct operator_kind busy_operator = {
	.name = "busy",
	.widths = {4},
	.ordered = 1,
	.keys = 2,
	.out_widths = {5, 3},
	.state_bytes = sizeof(struct busy),
	.row = busy_row,
	.finish = busy_finish,
	.free = busy_free,
};

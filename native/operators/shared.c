/* _shared_correlation and _unpaired_correlation: ids that do not stand for one thing.
 *
 * Rows: process, correlation id; of calls, and of activities.  All calls come first. */
#include "operators/bits.h"
#include "operators/operator.h"

enum { CALLS, ACTIVITIES };

struct shared {
	struct bits called, called_again, active, told;
};

static int tell(struct shared *shared, const int64_t *row, struct table *out)
{
	int was_there = bits_set(&shared->told, row[0], row[1]);

	if (was_there)
		return was_there < 0 ? was_there : 0;
	/* Only one of the two operators has a column for the third. */
	return TABLE_PUT(out, row[0], row[1], bits_get(&shared->called, row[0], row[1]) +
						      bits_get(&shared->called_again, row[0], row[1]));
}

/* Ids that a process has more than once. */
static int shared_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct shared *shared = state;
	int was_there = bits_set(&shared->called, row[0], row[1]);

	(void)input;
	return was_there == 1 ? tell(shared, row, out) : was_there;
}

/* Ids of activities that are not of one call and one activity, and of how many calls. */
static int unpaired_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct shared *shared = state;
	int was_there = bits_set(input == CALLS ? &shared->called : &shared->active, row[0], row[1]);

	if (was_there < 0)
		return was_there;
	if (input == CALLS) {
		was_there = was_there ? bits_set(&shared->called_again, row[0], row[1]) : 0;
		return was_there < 0 ? was_there : 0;
	}
	if (was_there || !bits_get(&shared->called, row[0], row[1]) ||
	    bits_get(&shared->called_again, row[0], row[1]))
		return tell(shared, row, out);
	return 0;
}

static void shared_free(void *state)
{
	struct shared *shared = state;

	bits_free(&shared->called);
	bits_free(&shared->called_again);
	bits_free(&shared->active);
	bits_free(&shared->told);
}

const struct operator_kind shared_operator = {
	.name = "shared",
	.widths = {2},
	.out_widths = {2},
	.state_bytes = sizeof(struct shared),
	.row = shared_row,
	.free = shared_free,
};

const struct operator_kind unpaired_operator = {
	.name = "unpaired",
	.widths = {2, 2},
	.out_widths = {3},
	.state_bytes = sizeof(struct shared),
	.row = unpaired_row,
	.free = shared_free,
};

/* _shared_correlation and _repeated_correlation: ids that a process has more than once.
 *
 * Rows: process, correlation id. */
#include <errno.h>

#include "operators/bits.h"
#include "operators/operator.h"

struct shared {
	struct bits once, twice;
};

static int shared_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct shared *shared = state;
	int was_there = bits_set(&shared->once, row[0], row[1]);
	int64_t *found;

	(void)input;
	if (was_there != 1)
		return was_there;
	was_there = bits_set(&shared->twice, row[0], row[1]);
	if (was_there)
		return was_there < 0 ? was_there : 0;
	found = table_add(out);
	if (!found)
		return -ENOMEM;
	found[0] = row[0];
	found[1] = row[1];
	return 0;
}

static void shared_free(void *state)
{
	struct shared *shared = state;

	bits_free(&shared->once);
	bits_free(&shared->twice);
}

const struct operator_kind shared_operator = {
	.name = "shared",
	.widths = {2},
	.out_widths = {2},
	.state_bytes = sizeof(struct shared),
	.row = shared_row,
	.free = shared_free,
};

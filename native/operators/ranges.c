/* _range_own: what was asked for within each NVTX range, and in no range inside it.
 *
 * Rows of input 0: process, thread, from when on, the innermost range; UNKNOWN outside of all.  Of
 * input 1: calls (calls.h), the thread instead of the name.  Of input 2: process, correlation id,
 * start, end (never before it), GPU, kind (0 kernel, 1 copy, 2 set, 3 another), bytes; UNKNOWN for
 * NULL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operators/calls.h"
#include "operators/operator.h"
#include "operators/ordered.h"

enum { PROCESS, CORRELATION, START, END, GPU, KIND, BYTES, N_FIELDS };
enum { KERNEL, COPY, SET };

struct turn {
	int64_t at, range;
};

struct thread {
	struct turn *turns;
	size_t n, capacity, last; /* the one that was asked for last */
	bool is_in_order;
};

struct own {
	int64_t activities, gpu_ns, start, end;
	/* UNKNOWN are times without a kernel, and bytes of no copy that tells them. */
	int64_t kernels, kernel_ns, kernel_max_ns, copies, copied_bytes, sets;
};

struct ranges {
	struct calls calls; /* with the range instead of the name */
	ITEMS(struct thread) threads;
	ITEMS(struct own) owns;
	bool is_complete; /* no turn comes any more */
	bool is_beside;	  /* the turns are another's */
};

static int add_turn(struct ranges *ranges, const int64_t *row)
{
	struct thread *thread = ranges->is_complete ? NULL : ITEM_OF(ranges->threads, 2, row);

	if (!thread || GROW(thread->turns, thread->n, thread->capacity))
		return ranges->is_complete ? -EINVAL : -ENOMEM;
	thread->is_in_order = !thread->n || (thread->is_in_order && thread->turns[thread->n - 1].at <= row[2]);
	thread->turns[thread->n++] = (struct turn){row[2], row[3]};
	return 0;
}

static int put_turn(void *data, const int64_t *row)
{
	struct turn **to = data;

	*(*to)++ = (struct turn){row[0], row[1]};
	return 0;
}

/* All turns are there. */
static int complete(struct ranges *ranges)
{
	for (size_t i = 0; !ranges->is_complete && i < ranges->threads.ids.n; i++) {
		struct thread *thread = &ranges->threads.all[i];
		struct turn *turns, *to;
		int result;

		if (thread->is_in_order)
			continue;
		turns = to = malloc(thread->n * sizeof *turns);
		if (!turns)
			return -ENOMEM;
		result = read_in_order((int64_t *)thread->turns, thread->n, 2, 1, put_turn, &to);
		free(thread->turns);
		thread->turns = turns;
		thread->capacity = thread->n;
		thread->is_in_order = true;
		if (result)
			return result;
	}
	ranges->is_complete = true;
	return 0;
}

/* The innermost range of a thread at a time, or UNKNOWN. */
static int64_t range_of(struct ranges *ranges, const int64_t *key, int64_t at)
{
	int64_t number = ids_find(&ranges->threads.ids, key);
	struct thread *thread = number < 0 ? NULL : &ranges->threads.all[number];
	const struct turn *turns = thread ? thread->turns : NULL;
	size_t low = 0, high; /* at or before the turn that is wanted, and after it */

	if (!turns || at == UNKNOWN || at < turns[0].at)
		return UNKNOWN;
	high = thread->n;
	if (turns[thread->last].at <= at) {
		low = thread->last;
		if (low + 1 == high || turns[low + 1].at > at)
			return turns[low].range;
		low++;
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (turns[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	thread->last = low;
	return turns[low].range;
}

/* A sum that may be of nothing yet; -ERANGE if no column holds it. */
static int add_known(int64_t *sum, int64_t value)
{
	return __builtin_add_overflow(*sum == UNKNOWN ? 0 : *sum, value, sum) ? -ERANGE : 0;
}

static int count(struct ranges *ranges, int64_t range, const int64_t *row)
{
	struct own *own = ITEM_OF(ranges->owns, 2, ((const int64_t[]){range, row[GPU]}));
	int64_t length;

	if (!own)
		return -ENOMEM;
	if (__builtin_sub_overflow(row[END], row[START], &length))
		return -ERANGE;
	if (!own->activities)
		*own = (struct own){.start = row[START], .end = row[END], .kernel_ns = UNKNOWN,
				    .kernel_max_ns = UNKNOWN, .copied_bytes = UNKNOWN};
	own->start = own->start < row[START] ? own->start : row[START];
	own->end = own->end > row[END] ? own->end : row[END];
	own->activities++;
	own->kernels += row[KIND] == KERNEL;
	own->copies += row[KIND] == COPY;
	own->sets += row[KIND] == SET;
	if (row[KIND] == KERNEL && length > own->kernel_max_ns)
		own->kernel_max_ns = length;
	if (add_known(&own->gpu_ns, length) ||
	    (row[KIND] == KERNEL && add_known(&own->kernel_ns, length)) ||
	    (row[KIND] == COPY && row[BYTES] != UNKNOWN && add_known(&own->copied_bytes, row[BYTES])))
		return -ERANGE;
	return 0;
}

_Static_assert((int)CORRELATION == (int)CALL_CORRELATION, "a call is shared out as what it asked for");

static int ranges_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct ranges *ranges = state;
	struct call call;
	int64_t range;

	(void)out;
	if (input == 0)
		return add_turn(ranges, row);
	if (complete(ranges))
		return -ENOMEM;
	if (input == 1) {
		int64_t key[] = {row[CALL_PROCESS], row[CALL_NAME]}, in_range[CALL_FIELDS];

		memcpy(in_range, row, sizeof in_range);
		in_range[CALL_NAME] = range_of(ranges, key, row[CALL_START]);
		return calls_add(&ranges->calls, in_range);
	}
	if (!calls_find(&ranges->calls, row[PROCESS], row[CORRELATION], row[START], &call))
		return 0;
	range = calls_name(&ranges->calls, &call);
	return range == UNKNOWN ? 0 : count(ranges, range, row);
}

static int ranges_slice(void *state, struct table *out)
{
	struct ranges *ranges = state;

	(void)out;
	calls_clear(&ranges->calls);
	return 0;
}

static int ranges_beside(void *state, void *other)
{
	struct ranges *ranges = state, *first = other;

	if (complete(first))
		return -ENOMEM;
	for (size_t i = 0; i < first->threads.ids.n; i++) {
		struct thread *thread =
			ITEM_OF(ranges->threads, 2, ids_key(&first->threads.ids, i));

		if (!thread)
			return -ENOMEM;
		*thread = first->threads.all[i];
	}
	ranges->is_complete = ranges->is_beside = true;
	return 0;
}

static int ranges_finish(void *state, struct table *out)
{
	const struct ranges *ranges = state;

	for (size_t i = 0; i < ranges->owns.ids.n; i++) {
		const struct own *own = &ranges->owns.all[i];
		int64_t *row = table_add(out);

		if (!row)
			return -ENOMEM;
		memcpy(row, ids_key(&ranges->owns.ids, i), 2 * sizeof *row);
		memcpy(row + 2, own, sizeof *own);
	}
	return 0;
}

static void ranges_free(void *state)
{
	struct ranges *ranges = state;

	for (size_t i = 0; !ranges->is_beside && i < ranges->threads.ids.n; i++)
		free(ranges->threads.all[i].turns);
	FREE_ITEMS(ranges->threads);
	FREE_ITEMS(ranges->owns);
	calls_free(&ranges->calls);
}

const struct operator_kind range_operator = {
	.name = "range",
	.widths = {4, CALL_FIELDS, N_FIELDS},
	.out_widths = {12},
	.state_bytes = sizeof(struct ranges),
	.row = ranges_row,
	.finish = ranges_finish,
	.free = ranges_free,
	.slice = ranges_slice,
	.beside = ranges_beside,
	.shared_by = CORRELATION,
};

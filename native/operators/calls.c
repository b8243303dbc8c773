#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operators/calls.h"
#include "operators/operator.h"

#define LEAST_CALLS 8 /* of a page */

/* Of an id: none, one call, several of which the first contains the others, or a list. */
enum { ABSENT, SINGLE, SHARED, LISTED };

struct listed {
	int64_t place; /* of the id: page and entry */
	int64_t start, end;
	uint32_t name;
	bool is_runtime, is_graph;
	bool is_inside; /* another call of the id contains its begin */
};

static int64_t until_of(int64_t start, int64_t end)
{
	return end == UNKNOWN ? start : end;
}

/* The order in which calls of an id are looked at: outer ones first. */
static int compare(const struct listed *a, const struct listed *b)
{
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end == UNKNOWN ? 1 : b->end == UNKNOWN ? -1 : a->end > b->end ? -1 : 1;
	return (int)b->is_runtime - (int)a->is_runtime;
}

static int compare_listed(const void *a, const void *b)
{
	return compare(a, b);
}

static int list(struct calls *calls, const struct listed *call)
{
	if (call->start == UNKNOWN)
		return 0; /* it cannot have begun before anything */
	if (GROW(calls->listed, calls->n_listed, calls->listed_capacity))
		return -ENOMEM;
	calls->listed[calls->n_listed++] = *call;
	calls->is_sorted = false;
	return 0;
}

static struct entry entry_of(const struct listed *call, uint8_t state)
{
	return (struct entry){call->start, call->end, call->name, state, call->is_runtime,
			      call->is_graph};
}

/* One more call of an id that has some. */
static int add_another(struct calls *calls, struct entry *entry, struct listed *call)
{
	struct listed other = {call->place,	  entry->start,	   entry->end, entry->name,
			       entry->is_runtime, entry->is_graph, false};
	const struct listed *outer, *inner;

	if (entry->state == LISTED)
		return list(calls, call);
	if (call->start != UNKNOWN && other.start != UNKNOWN) {
		outer = compare(call, &other) < 0 ? call : &other;
		inner = outer == call ? &other : call;
		if (until_of(inner->start, inner->end) <= until_of(outer->start, outer->end)) {
			*entry = entry_of(outer, SHARED);
			return 0;
		}
	}
	entry->state = LISTED;
	return list(calls, &other) || list(calls, call) ? -ENOMEM : 0;
}

int calls_add(struct calls *calls, const int64_t *row)
{
	struct entry *entry = ENTRY_OF(calls->entries, row[CALL_PROCESS], row[CALL_CORRELATION]);
	struct listed call = {.start = row[CALL_START], .end = row[CALL_END],
			      .is_runtime = row[CALL_IS_RUNTIME] != 0,
			      .is_graph = row[CALL_IS_GRAPH] != 0};
	int64_t name;

	calls->names.width = 1;
	name = ids_of(&calls->names, row + CALL_NAME);
	if (!entry || name < 0)
		return -ENOMEM;
	if (are_sparse(&calls->entries.ids, LEAST_CALLS, calls->n_calls))
		return -E2BIG;
	calls->n_calls++;
	call.name = (uint32_t)name;
	call.place = ENTRY_PLACE(calls->entries, entry);
	if (entry->state != ABSENT)
		return add_another(calls, entry, &call);
	*entry = entry_of(&call, SINGLE);
	return 0;
}

/* Which of the listed calls are inside others. */
static void sort_listed(struct calls *calls)
{
	int64_t until = 0;

	if (calls->n_listed)
		qsort(calls->listed, calls->n_listed, sizeof *calls->listed, compare_listed);
	for (size_t i = 0; i < calls->n_listed; i++) {
		struct listed *call = &calls->listed[i];
		bool is_first = i == 0 || call->place != call[-1].place;
		int64_t own = until_of(call->start, call->end);

		call->is_inside = !is_first && call->start <= until;
		until = is_first || own > until ? own : until;
	}
	calls->is_sorted = true;
}

/* The last listed call of the id that began by then and is in no other. */
static const struct listed *find_listed(struct calls *calls, int64_t place, int64_t start)
{
	size_t low = 0, high = calls->n_listed;

	if (!calls->is_sorted) {
		sort_listed(calls);
		high = calls->n_listed;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct listed *call = &calls->listed[middle];

		if (call->place < place || (call->place == place && call->start <= start))
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 0 && calls->listed[low - 1].place == place) {
		if (!calls->listed[--low].is_inside)
			return &calls->listed[low];
	}
	return NULL;
}

bool calls_find(struct calls *calls, int64_t process, int64_t correlation, int64_t start,
		struct call *out)
{
	const struct entry *entry = FIND_ENTRY(calls->entries, process, correlation);
	const struct listed *listed;

	if (!entry || entry->state == ABSENT)
		return false;
	if (entry->state == LISTED) {
		listed = start == UNKNOWN ? NULL
					  : find_listed(calls, ENTRY_PLACE(calls->entries, entry),
							start);
		if (listed)
			*out = (struct call){listed->start, listed->end, listed->name,
					     listed->is_graph};
		return listed != NULL;
	}
	if (entry->state == SHARED && (start == UNKNOWN || entry->start > start))
		return false;
	*out = (struct call){entry->start, entry->end, entry->name, entry->is_graph};
	return true;
}

void calls_clear(struct calls *calls)
{
	ids_clear(&calls->entries.ids);
	calls->n_calls = calls->n_listed = 0;
}

void calls_free(struct calls *calls)
{
	FREE_ITEMS(calls->entries);
	free(calls->listed);
	ids_free(&calls->names);
	*calls = (struct calls){0};
}

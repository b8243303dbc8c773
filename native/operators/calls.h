/* The call that asked for an activity, by process and correlation id: launch_to_gpu. */
#pragma once

#include <stdbool.h>

#include "operators/pages.h"

/* Fields of a row of calls; UNKNOWN for NULL. */
enum { CALL_PROCESS, CALL_CORRELATION, CALL_START, CALL_END, CALL_NAME, CALL_IS_RUNTIME,
       CALL_IS_GRAPH, /* it launches a graph, says its name */
       CALL_FIELDS };

struct call {
	int64_t start, end;
	uint32_t name; /* see calls_name */
	bool is_graph;
};

/* Of an id. */
struct entry {
	int64_t start, end;
	uint32_t name;
	uint8_t state; /* how many there are: see calls.c */
	bool is_runtime, is_graph;
};

struct calls {
	struct ids names; /* of the calls */
	PAGES(struct entry, 256) entries; /* by process and correlation id */
	size_t n_calls;
	struct listed *listed; /* calls of ids that began anew, or overlap and contain no other */
	size_t n_listed, listed_capacity;
	bool is_sorted;
};

/* -ENOMEM; -E2BIG where the ids are so far apart that they need another method. */
ETL_MUST_CHECK int calls_add(struct calls *calls, const int64_t *row);
/* Whether there is a call for an activity that began then. */
bool calls_find(struct calls *calls, int64_t process, int64_t correlation, int64_t start,
		struct call *out);
static inline int64_t calls_name(const struct calls *calls, const struct call *call)
{
	return *ids_key(&calls->names, call->name);
}
/* The calls are forgotten; their names, and the room for as many calls, are kept. */
void calls_clear(struct calls *calls);
void calls_free(struct calls *calls);

/* Steps of the query library that SQL does badly: operators over intervals in the order of time,
 * and what follows from them.
 *
 * An operator takes rows of 64-bit integers, from one to three inputs, and makes rows of 64-bit
 * numbers.  What it answers is what the query of the same purpose in cupti_etl/queries/library
 * says in SQL, which stays the definition. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operators/table.h"

#define MAX_WIDTH 14
#define MAX_INPUTS 3
#define MAX_OUTPUTS 3
#define UNKNOWN INT64_MIN /* a value that is NULL in SQL */

/* NULL comes last. */
static inline int compare_known(int64_t a, int64_t b)
{
	if (a == b)
		return 0;
	return a == UNKNOWN ? 1 : b == UNKNOWN ? -1 : a < b ? -1 : 1;
}

static inline int64_t bits_of(double value)
{
	union {
		double number;
		int64_t bits;
	} both = {.number = value};

	return both.bits;
}

struct operator_kind {
	const char *name;
	unsigned widths[MAX_INPUTS]; /* of an input that it has; 0 after those, as below */
	unsigned ordered; /* bits of the inputs whose rows are wanted in order, of time as a rule */
	unsigned keys;	  /* the columns by which, the first ones */
	unsigned out_widths[MAX_OUTPUTS];
	size_t state_bytes; /* all zeros at first */
	int (*row)(void *state, unsigned input, const int64_t *row, struct table *out);
	int (*finish)(void *state, struct table *out); /* may be NULL, as `slice` */
	void (*free)(void *state);
	/* Of an operator whose inputs are cut in slices: the slice is complete. */
	int (*slice)(void *state, struct table *out);
	/* Of one whose rows can be shared out: begins a state that reads from another what that was
	 * given as its first input. */
	int (*beside)(void *state, void *other);
	unsigned shared_by; /* the column of its other inputs that says whose a row is */
};

extern const struct operator_kind busy_operator, edge_operator, host_operator, run_operator, trend_operator;
extern const struct operator_kind depth_operator, shared_operator, sample_operator, range_operator,
	span_operator, streams_operator, nesting_operator, rising_operator, tree_operator, unpaired_operator;

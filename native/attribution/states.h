/* What ran together: sets of groups that have a term of their own. */
#pragma once

#include <stdint.h>

/* More at once are not told apart. */
#define STATE_MEMBERS 4
/* So many sets of a device, in the order in which they come. */
#ifndef FIT_STATES
#define FIT_STATES 512
#endif
#define STATE_SLOTS (4 * FIT_STATES)

struct state {
	int32_t n, members[STATE_MEMBERS]; /* in their order; one may be there twice */
};

struct states {
	int32_t n;
	struct state state[FIT_STATES];
	int32_t slots[STATE_SLOTS]; /* number of a state, from 1; 0 is free */
};

/* The number of the set of these groups, whatever their order; -1: it has none. */
int32_t state_of(struct states *states, const int32_t *groups, int32_t n);


#include <stdbool.h>
#include <string.h>

#include "attribution/states.h"

static bool is_same(const struct state *one, const struct state *other)
{
	return one->n == other->n &&
	       !memcmp(one->members, other->members, (size_t)one->n * sizeof *one->members);
}

int32_t state_of(struct states *states, const int32_t *groups, int32_t n)
{
	struct state asked = {.n = n};
	uint64_t hash = 0;
	size_t at;

	if (n > STATE_MEMBERS)
		return -1;
	for (int32_t i = 0, k; i < n; i++) {
		for (k = i; k > 0 && asked.members[k - 1] > groups[i]; k--)
			asked.members[k] = asked.members[k - 1];
		asked.members[k] = groups[i];
	}
	for (int32_t i = 0; i < n; i++)
		hash = (hash ^ (uint64_t)(uint32_t)asked.members[i]) *
		       UINT64_C(0x9E3779B97F4A7C15);
	at = (size_t)(hash >> 32) % STATE_SLOTS;
	while (states->slots[at] && !is_same(&states->state[states->slots[at] - 1], &asked))
		at = (at + 1) % STATE_SLOTS;
	if (!states->slots[at]) {
		if (states->n == FIT_STATES)
			return -1;
		states->state[states->n++] = asked;
		states->slots[at] = states->n;
	}
	return states->slots[at] - 1;
}

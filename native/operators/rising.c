/* range_gpu: what is of a range is of all ranges around it, too.
 *
 * Rows of input 0: range, the range around it or UNKNOWN, how many are around it.  Of input 1, what
 * a range has by itself: range, key, six numbers: two that are summed over the ranges inside, too,
 * two that are not, one of which the least is wanted, one of which the greatest.  Rows of the output
 * are as those of input 1. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operators/operator.h"
#include "arrow/ids.h"

enum { OWN = 2, LEAST = 4, GREATEST, N_NUMBERS };
#define NONE SIZE_MAX

struct place {
	int64_t around;
	int64_t levels; /* it and those around it; 0: not known */
};

struct sum {
	int64_t numbers[N_NUMBERS];
	size_t next; /* of the same depth */
	bool is_begun;
};

struct rising {
	struct place *places; /* by range: they are counted from 1 on */
	size_t n_places;
	ITEMS(struct sum) sums; /* by range and key */
	size_t *first;		    /* sums by depth */
	size_t n_depths, capacity;
};

static struct place *place_of(const struct rising *rising, int64_t range)
{
	return range >= 0 && (size_t)range < rising->n_places && rising->places[range].levels
		       ? &rising->places[range]
		       : NULL;
}

static int make_room(struct rising *rising, size_t range)
{
	size_t n = rising->n_places * 2 > range ? rising->n_places * 2 : range + 1;
	struct place *places;

	if (range < rising->n_places)
		return 0;
	places = realloc(rising->places, n * sizeof *places);
	if (!places)
		return -ENOMEM;
	memset(places + rising->n_places, 0, (n - rising->n_places) * sizeof *places);
	rising->places = places;
	rising->n_places = n;
	return 0;
}

static int add_place(struct rising *rising, const int64_t *row)
{
	if (row[2] < 0)
		return -EINVAL;
	if (row[0] < 0 || row[0] > UINT32_MAX)
		return -E2BIG;
	if (make_room(rising, (size_t)row[0]))
		return -ENOMEM;
	rising->places[row[0]] = (struct place){row[1], row[2] + 1};
	for (; rising->n_depths <= (size_t)row[2]; rising->n_depths++) {
		if (GROW(rising->first, rising->n_depths, rising->capacity))
			return -ENOMEM;
		rising->first[rising->n_depths] = NONE;
	}
	return 0;
}

/* Adds numbers to those of a range; of one that has no place nothing is known. */
static int add(struct rising *rising, const int64_t *key, const int64_t *numbers)
{
	const struct place *place = place_of(rising, key[0]);
	struct sum *sum = place ? ITEM_OF(rising->sums, 2, key) : NULL;

	if (!sum)
		return place ? -ENOMEM : 0;
	if (!sum->is_begun) {
		size_t *first = &rising->first[place->levels - 1];

		memcpy(sum->numbers, numbers, sizeof sum->numbers);
		sum->is_begun = true;
		sum->next = *first;
		*first = (size_t)(sum - rising->sums.all);
		return 0;
	}
	for (unsigned i = 0; i < LEAST; i++)
		sum->numbers[i] += numbers[i];
	if (numbers[LEAST] < sum->numbers[LEAST])
		sum->numbers[LEAST] = numbers[LEAST];
	if (numbers[GREATEST] > sum->numbers[GREATEST])
		sum->numbers[GREATEST] = numbers[GREATEST];
	return 0;
}

static int rising_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	(void)out;
	return input == 0 ? add_place(state, row) : add(state, row, row + 2);
}

/* From the deepest ranges outwards, so that each is complete before it is added to another. */
static int rising_finish(void *state, struct table *out)
{
	struct rising *rising = state;

	for (size_t depth = rising->n_depths; depth-- > 0;) {
		for (size_t at = rising->first[depth]; at != NONE; at = rising->sums.all[at].next) {
			struct sum sum = rising->sums.all[at];
			int64_t key[2], *row = table_add(out);

			if (!row)
				return -ENOMEM;
			memcpy(key, ids_key(&rising->sums.ids, at), sizeof key);
			memcpy(row, key, sizeof key);
			memcpy(row + 2, sum.numbers, sizeof sum.numbers);
			memset(sum.numbers + OWN, 0, (LEAST - OWN) * sizeof *sum.numbers);
			key[0] = rising->places[key[0]].around;
			if (key[0] != UNKNOWN && add(rising, key, sum.numbers))
				return -ENOMEM;
		}
	}
	return 0;
}

static void rising_free(void *state)
{
	struct rising *rising = state;

	free(rising->places);
	FREE_ITEMS(rising->sums);
	free(rising->first);
}

const struct operator_kind rising_operator = {
	.name = "rising",
	.widths = {3, 2 + N_NUMBERS},
	.out_widths = {2 + N_NUMBERS},
	.state_bytes = sizeof(struct rising),
	.row = rising_row,
	.finish = rising_finish,
	.free = rising_free,
};

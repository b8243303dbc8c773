#include <errno.h>

#include "operators/bits.h"

#define LEAST_IDS 8 /* of a page */

static uint64_t bit_of(int64_t id)
{
	return UINT64_C(1) << (id & 63);
}

int bits_set(struct bits *bits, int64_t process, int64_t id)
{
	uint64_t *word = ENTRY_OF(bits->words, process, id >> 6);

	if (!word)
		return -ENOMEM;
	if (are_sparse(&bits->words.ids, LEAST_IDS, bits->n_set))
		return -E2BIG;
	if (*word & bit_of(id))
		return 1;
	*word |= bit_of(id);
	bits->n_set++;
	return 0;
}

bool bits_get(struct bits *bits, int64_t process, int64_t id)
{
	const uint64_t *word = FIND_ENTRY(bits->words, process, id >> 6);

	return word && *word & bit_of(id);
}

void bits_free(struct bits *bits)
{
	FREE_ITEMS(bits->words);
}

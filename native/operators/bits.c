#include <errno.h>

#include "operators/bits.h"

#define WORDS 32 /* of a page */
#define SHIFT 11 /* of an id, to its page: ids are dense, as a process counts its calls */
/* So many ids a page on the average, or there are too many pages; up to FEW it does not matter. */
#define LEAST_IDS 8
#define FEW 4096

struct bits_page {
	uint64_t words[WORDS];
};

static uint64_t bit_of(int64_t id)
{
	return UINT64_C(1) << (id & 63);
}

static unsigned word_of(int64_t id)
{
	return (unsigned)(id >> 6) % WORDS;
}

int bits_set(struct bits *bits, int64_t process, int64_t id)
{
	const int64_t key[] = {process, id >> SHIFT};
	struct bits_page *page = ITEM_OF(bits->pages, 2, key);
	uint64_t *word;

	if (!page)
		return -ENOMEM;
	if (bits->pages.ids.n > FEW && bits->pages.ids.n * LEAST_IDS > bits->n_set)
		return -E2BIG;
	word = &page->words[word_of(id)];
	if (*word & bit_of(id))
		return 1;
	*word |= bit_of(id);
	bits->n_set++;
	return 0;
}

bool bits_get(struct bits *bits, int64_t process, int64_t id)
{
	int64_t number = ids_find(&bits->pages.ids, (const int64_t[]){process, id >> SHIFT});

	return number >= 0 && bits->pages.all[number].words[word_of(id)] & bit_of(id);
}

void bits_free(struct bits *bits)
{
	FREE_ITEMS(bits->pages);
}

/* An entry for each id of a process.  Ids are dense, as a process counts its calls: those with the
 * same upper bits share a page. */
#pragma once

#include "arrow/ids.h"

/* Pages of so many entries, a power of two. */
#define PAGES(type, n) ITEMS(struct { type entries[n]; })
#define PAGE_SIZE(pages) (sizeof(pages).all->entries / sizeof *(pages).all->entries)
/* The page of an id, as a key. */
#define PAGE_OF(pages, process, id) \
	((const int64_t[]){process, (id) >> __builtin_ctzl(PAGE_SIZE(pages))})

/* The id's entry, zeros if its page is new; NULL: no memory. */
#define ENTRY_OF(pages, process, id)                                             \
	entry_in(ITEM_OF(pages, 2, PAGE_OF(pages, process, id)),                     \
		 (size_t)(id) % PAGE_SIZE(pages) * sizeof *(pages).all->entries)
/* The same, of a page that is there; or NULL. */
#define FIND_ENTRY(pages, process, id)                                               \
	entry_in(find_page(&(pages).ids, PAGE_OF(pages, process, id), (pages).all,   \
			   sizeof *(pages).all),                                     \
		 (size_t)(id) % PAGE_SIZE(pages) * sizeof *(pages).all->entries)
/* Of an entry: where it is among all. */
#define ENTRY_PLACE(pages, entry) ((entry) - (pages).all->entries)

static inline void *entry_in(void *page, size_t at)
{
	return page ? (char *)page + at : NULL;
}

static inline void *find_page(struct ids *ids, const int64_t *key, void *pages, size_t size)
{
	int64_t number = ids_find(ids, key);

	return number < 0 ? NULL : (char *)pages + (size_t)number * size;
}

/* Whether the ids are so far apart that they need another method: fewer than the least number in a
 * page, on the average.  Of few pages it does not matter. */
static inline bool are_sparse(const struct ids *pages, size_t least, size_t n)
{
	return pages->n > 4096 && pages->n * least > n;
}

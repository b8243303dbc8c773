/* A number for each key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "arrow/grow.h"
#include "etl/hash.h"

#define RECENT_BITS 4

struct ids {
	unsigned width; /* integers in a key; set before the first use */
	size_t n, capacity, n_slots;
	int64_t *keys;
	uint32_t *slots;      /* number + 1; 0: free */
	/* The same, of keys that came lately, at a place that is cheap to find. */
	uint32_t recent[1 << RECENT_BITS];
	size_t last;	     /* the number that was told last */
};

/* Whether the key has the number. */
static inline bool ids_is(const struct ids *ids, unsigned width, size_t number, const int64_t *key)
{
	const int64_t *other = ids->keys + number * width;

	for (unsigned i = 0; i < width; i++) {
		if (other[i] != key[i])
			return false;
	}
	return true;
}

/* Whether it is the key that was told last, as of rows one after another. */
static inline bool ids_is_last(const struct ids *ids, unsigned width, const int64_t *key)
{
	return ids->n && ids_is(ids, width, ids->last, key);
}

/* Spreads hashes as well as numbers that count up: one product an integer, as each text of a record
 * that was not met lately is looked up by it. */
static inline uint64_t ids_mix(unsigned width, const int64_t *key)
{
	uint64_t mixed = 0;

	for (unsigned i = 0; i < width; i++)
		mixed = etl_fold(mixed ^ (uint64_t)key[i], UINT64_C(0x9E3779B97F4A7C15));
	return mixed;
}

/* Whether it is one of those that came lately, as of rows of a few in turn; that was told last then. */
static inline bool ids_is_recent(struct ids *ids, unsigned width, const int64_t *key, uint64_t mixed)
{
	uint32_t recent = ids->recent[mixed >> (64 - RECENT_BITS)];

	if (!recent || !ids_is(ids, width, recent - 1, key))
		return false;
	ids->last = recent - 1;
	return true;
}

/* The number of the key, counted from 0 in the order of their coming; -ENOMEM. */
ETL_MUST_CHECK int64_t ids_of(struct ids *ids, const int64_t *key);
/* The number, or -1 if the key never came. */
int64_t ids_find(struct ids *ids, const int64_t *key);
static inline const int64_t *ids_key(const struct ids *ids, size_t number)
{
	return ids->keys + number * ids->width;
}
/* Forgets all keys; room for many is given back. */
void ids_clear(struct ids *ids);
void ids_free(struct ids *ids);

/* Items by key, as many as `ids` has keys, in the order of their coming. */
#define ITEMS(type)                     \
	struct {                        \
		struct ids ids;         \
		type *all;              \
		size_t capacity;        \
	}
/* The item of the key, of so many integers; zeros, if it is new.  NULL: no memory. */
#define ITEM_OF(items, width, key) \
	item_of(&(items).ids, width, key, (void **)&(items).all, &(items).capacity, sizeof *(items).all)
#define FREE_ITEMS(items) (free((items).all), ids_free(&(items).ids))
ETL_MUST_CHECK void *item_made(struct ids *ids, unsigned width, const int64_t *key, void **items,
			       size_t *capacity, size_t size);
ETL_MUST_CHECK static inline void *item_of(struct ids *ids, unsigned width, const int64_t *key,
					   void **items, size_t *capacity, size_t size)
{
	if (ids_is_last(ids, width, key) || ids_is_recent(ids, width, key, ids_mix(width, key)))
		return (char *)*items + ids->last * size;
	return item_made(ids, width, key, items, capacity, size);
}

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etl/hash.h"
#include "arrow/ids.h"

#define KEPT_SLOTS 0x10000

/* The slot of the key, or the free one where it would be. */
static size_t slot_of(const struct ids *ids, const int64_t *key, uint64_t mixed)
{
	size_t at = mixed & (ids->n_slots - 1);

	while (ids->slots[at] && !ids_is(ids, ids->width, ids->slots[at] - 1, key))
		at = (at + 1) & (ids->n_slots - 1);
	return at;
}

static int rehash(struct ids *ids)
{
	size_t n_slots = ids->n_slots ? ids->n_slots * 2 : 64;
	uint32_t *slots = calloc(n_slots, sizeof *slots);

	if (!slots)
		return -ENOMEM;
	free(ids->slots);
	ids->slots = slots;
	ids->n_slots = n_slots;
	for (size_t i = 0; i < ids->n; i++)
		slots[slot_of(ids, ids_key(ids, i), ids_mix(ids->width, ids_key(ids, i)))] = (uint32_t)i + 1;
	return 0;
}

static int64_t told(struct ids *ids, uint64_t mixed, uint32_t slot)
{
	ids->recent[mixed >> (64 - RECENT_BITS)] = slot;
	ids->last = slot - 1;
	return (int64_t)ids->last;
}

int64_t ids_of(struct ids *ids, const int64_t *key)
{
	uint64_t mixed;
	size_t at;

	if (ids_is_last(ids, ids->width, key))
		return (int64_t)ids->last;
	mixed = ids_mix(ids->width, key);
	if (ids_is_recent(ids, ids->width, key, mixed))
		return (int64_t)ids->last;
	if (2 * (ids->n + 1) > ids->n_slots && (ids->n == UINT32_MAX - 1 || rehash(ids)))
		return -ENOMEM;
	at = slot_of(ids, key, mixed);
	if (!ids->slots[at]) {
		if (grow((void **)&ids->keys, ids->n, &ids->capacity,
			 ids->width * sizeof *ids->keys))
			return -ENOMEM;
		memcpy(ids->keys + ids->n * ids->width, key, ids->width * sizeof *key);
		ids->slots[at] = (uint32_t)++ids->n;
	}
	return told(ids, mixed, ids->slots[at]);
}

int64_t ids_find(struct ids *ids, const int64_t *key)
{
	uint64_t mixed;
	uint32_t slot;

	if (!ids->n)
		return -1;
	if (ids_is_last(ids, ids->width, key))
		return (int64_t)ids->last;
	mixed = ids_mix(ids->width, key);
	if (ids_is_recent(ids, ids->width, key, mixed))
		return (int64_t)ids->last;
	slot = ids->slots[slot_of(ids, key, mixed)];
	return slot ? told(ids, mixed, slot) : -1;
}

void *item_made(struct ids *ids, unsigned width, const int64_t *key, void **items, size_t *capacity,
		size_t size)
{
	size_t n = ids->n;
	int64_t number;

	/* Before there is the key: each must have an item. */
	if (grow(items, n, capacity, size))
		return NULL;
	ids->width = width;
	number = ids_of(ids, key);
	if (number < 0)
		return NULL;
	if (ids->n > n)
		memset((char *)*items + n * size, 0, size);
	return (char *)*items + (size_t)number * size;
}

void ids_clear(struct ids *ids)
{
	/* To clear a large one costs its size. */
	if (ids->n_slots > KEPT_SLOTS) {
		free(ids->slots);
		ids->slots = NULL;
		ids->n_slots = 0;
	} else if (ids->n) {
		memset(ids->slots, 0, ids->n_slots * sizeof *ids->slots);
	}
	memset(ids->recent, 0, sizeof ids->recent);
	ids->n = ids->last = 0;
}

void ids_free(struct ids *ids)
{
	free(ids->keys);
	free(ids->slots);
}

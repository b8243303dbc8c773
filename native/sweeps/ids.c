#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etl/hash.h"
#include "sweeps/sweep.h"

#define FEW 4 /* keys that are compared before one is hashed */

static size_t first_slot(const struct ids *ids, const int64_t *key)
{
	return etl_hash(key, ids->width * sizeof *key) & (ids->n_slots - 1);
}

/* The slot of the key, or the free one where it would be. */
static size_t slot_of(const struct ids *ids, const int64_t *key)
{
	size_t at = first_slot(ids, key);

	while (ids->slots[at] &&
	       memcmp(ids_key(ids, ids->slots[at] - 1), key, ids->width * sizeof *key) != 0)
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
		slots[slot_of(ids, ids_key(ids, i))] = (uint32_t)i + 1;
	return 0;
}

int64_t ids_of(struct ids *ids, const int64_t *key)
{
	size_t at;

	for (size_t i = 0; ids->width == 1 && i < ids->n && i < FEW; i++) {
		if (ids->keys[i] == *key)
			return (int64_t)i;
	}
	if (2 * (ids->n + 1) > ids->n_slots && (ids->n == UINT32_MAX - 1 || rehash(ids)))
		return -ENOMEM;
	at = slot_of(ids, key);
	if (!ids->slots[at]) {
		if (grow((void **)&ids->keys, ids->n, &ids->capacity,
			 ids->width * sizeof *ids->keys))
			return -ENOMEM;
		memcpy(ids->keys + ids->n * ids->width, key, ids->width * sizeof *key);
		ids->slots[at] = (uint32_t)++ids->n;
	}
	return (int64_t)ids->slots[at] - 1;
}

int64_t ids_find(const struct ids *ids, const int64_t *key)
{
	return ids->n ? (int64_t)ids->slots[slot_of(ids, key)] - 1 : -1;
}

void ids_free(struct ids *ids)
{
	free(ids->keys);
	free(ids->slots);
}

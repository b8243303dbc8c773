/* A set of numbers other than 0, in memory of its own: malloc may be the program's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct etl_keys {
	uint64_t *table; /* open addressing, at most half full */
	size_t mask, n;
};

/* Room for one more; false if there is no memory. */
bool etl_keys_reserve(struct etl_keys *keys);
bool etl_keys_have(const struct etl_keys *keys, uint64_t key);
/* There must be room. */
void etl_keys_add(struct etl_keys *keys, uint64_t key);
void etl_keys_clear(struct etl_keys *keys);
/* Zeros from the system, or NULL; and back to it, which NULL may be. */
void *etl_new_memory(size_t bytes);
void etl_free_memory(void *memory, size_t bytes);

#include <string.h>
#include <sys/mman.h>

#include "inject/keys.h"

#define FIRST_MASK 4095

void *etl_new_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t find(const uint64_t *table, size_t mask, uint64_t key)
{
	size_t i = key & mask;

	while (table[i] && table[i] != key)
		i = (i + 1) & mask;
	return i;
}

bool etl_keys_reserve(struct etl_keys *keys)
{
	size_t mask = keys->table ? keys->mask * 2 + 1 : FIRST_MASK;
	uint64_t *table;

	if (keys->table && keys->n * 2 < keys->mask)
		return true;
	table = etl_new_memory((mask + 1) * sizeof *table);
	if (!table)
		return false;
	if (keys->table) {
		for (size_t i = 0; i <= keys->mask; i++)
			if (keys->table[i])
				table[find(table, mask, keys->table[i])] = keys->table[i];
		munmap(keys->table, (keys->mask + 1) * sizeof *table);
	}
	keys->table = table;
	keys->mask = mask;
	return true;
}

bool etl_keys_have(const struct etl_keys *keys, uint64_t key)
{
	return keys->table && keys->table[find(keys->table, keys->mask, key)] == key;
}

void etl_keys_add(struct etl_keys *keys, uint64_t key)
{
	size_t i = find(keys->table, keys->mask, key);

	keys->n += keys->table[i] == 0;
	keys->table[i] = key;
}

void etl_keys_clear(struct etl_keys *keys)
{
	if (keys->table)
		memset(keys->table, 0, (keys->mask + 1) * sizeof *keys->table);
	keys->n = 0;
}

void etl_free_memory(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

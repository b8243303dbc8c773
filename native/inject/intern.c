#include <string.h>
#include <sys/mman.h>

#include "etl/hash.h"
#include "etl/strings.h"
#include "inject/inject.h"

/* The keys of all strings that were published: open addressing, at most half full.
 * Its memory comes from mmap, because malloc may be the traced program's own. */
static uint64_t *known;
static size_t known_mask, known_count;

/* The slot that new strings are being written to, or -1. */
static int64_t staged = -1;
static size_t staged_bytes;
static bool no_room;

static size_t find(const uint64_t *table, size_t mask, uint64_t key)
{
	size_t i = key & mask;

	while (table[i] && table[i] != key)
		i = (i + 1) & mask;
	return i;
}

static bool make_room_for_one(void)
{
	size_t mask = known ? known_mask * 2 + 1 : 4095;
	uint64_t *table;

	if (known && known_count * 2 < known_mask)
		return true;
	table = mmap(NULL, (mask + 1) * sizeof *table, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		return false;
	if (known) {
		for (size_t i = 0; i <= known_mask; i++)
			if (known[i])
				table[find(table, mask, known[i])] = known[i];
		munmap(known, (known_mask + 1) * sizeof *known);
	}
	known = table;
	known_mask = mask;
	return true;
}

static void publish_staged(void)
{
	if (staged < 0)
		return;
	etl_slot_publish(&etl_injector.map, (uint64_t)staged, ETL_STRINGS,
			 (uint32_t)staged_bytes);
	staged = -1;
}

/* A place of `bytes` bytes in the staged slot, or NULL. */
static uint8_t *reserve(size_t bytes)
{
	uint8_t *place;

	if (staged >= 0 && staged_bytes + bytes > etl_slot_bytes((uint64_t)staged))
		publish_staged();
	if (staged < 0) {
		staged = etl_slot_take(&etl_injector.map, bytes > ETL_SMALL_BYTES);
		if (staged < 0 && etl_segment_grow(&etl_injector.map))
			staged = etl_slot_take(&etl_injector.map, bytes > ETL_SMALL_BYTES);
		if (staged < 0)
			staged = etl_slot_take(&etl_injector.map, true);
		if (staged < 0)
			return NULL;
		staged_bytes = 0;
	}
	place = etl_slot_data(&etl_injector.map, (uint64_t)staged) + staged_bytes;
	staged_bytes += bytes;
	return place;
}

uint64_t etl_intern(const char *text, size_t length, uint32_t tag, uint32_t flags)
{
	struct etl_string_entry entry = { .tag = tag, .flags = flags };
	size_t i, padded;
	uint8_t *place;

	if (length > ETL_LARGE_BYTES - sizeof entry - 8) {
		length = ETL_LARGE_BYTES - sizeof entry - 8;
		entry.flags |= ETL_STRING_TRUNCATED;
	}
	entry.id = etl_hash(text, length);
	entry.length = length;
	if (!make_room_for_one()) {
		no_room = true;
		return entry.id;
	}
	i = find(known, known_mask, entry.id);
	/* A function's name is published for each of its callback ids. */
	if (known[i] && !tag)
		return entry.id;
	padded = (length + 7) & ~(size_t)7;
	place = reserve(sizeof entry + padded);
	if (!place) {
		no_room = true; /* not marked as known: the next record tries again */
		return entry.id;
	}
	memcpy(place, &entry, sizeof entry);
	memcpy(place + sizeof entry, text, length);
	if (!known[i]) {
		known[i] = entry.id;
		known_count++;
		if (entry.flags & ETL_STRING_TRUNCATED)
			etl_add(&etl_injector.map.segment->counters.truncated_strings, 1);
	}
	return entry.id;
}

bool etl_intern_flush(void)
{
	bool all = !no_room;

	publish_staged();
	no_room = false;
	return all;
}

#include <string.h>
#include <sys/mman.h>

#include "etl/hash.h"
#include "etl/strings.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/keys.h"
#include "inject/wakeup.h"

/* Of the strings that were published. */
static struct etl_keys known;
static size_t known_bytes;

/* A program that makes a new string for each of its ranges makes them without end.  Beyond
 * these, both sides forget all that there were; what is used again is published again. */
#define MOST_KNOWN ((size_t)1 << 17)
#define MOST_KNOWN_BYTES ((size_t)16 << 20)

/* The slot that new strings are being written to, or -1. */
static int64_t staged = -1;
static size_t staged_bytes;
static bool no_room;

/* The entries of those strings as they were published, for a collector that comes later;
 * what goes beyond the limit is only missing then. */
#define CHUNK_BYTES ETL_LARGE_BYTES
#define MAX_CHUNKS 64
static struct {
	uint8_t *bytes;
	size_t used;
} chunks[MAX_CHUNKS];
static unsigned n_chunks;

/* How far the answer to a collector has come. */
static uint32_t answering;
static unsigned answered_chunks;
static size_t answered_bytes;

static size_t padded(uint64_t length)
{
	return (length + 7) & ~(size_t)7;
}

static void remember(const struct etl_string_entry *entry, const void *text)
{
	size_t bytes = sizeof *entry + padded(entry->length);
	uint8_t *place;

	if (n_chunks == 0 || chunks[n_chunks - 1].used + bytes > CHUNK_BYTES) {
		if (n_chunks == MAX_CHUNKS)
			return;
		chunks[n_chunks].bytes = etl_new_memory(CHUNK_BYTES);
		if (!chunks[n_chunks].bytes)
			return;
		n_chunks++;
	}
	place = chunks[n_chunks - 1].bytes + chunks[n_chunks - 1].used;
	memcpy(place, entry, sizeof *entry);
	memcpy(place + sizeof *entry, text, entry->length);
	chunks[n_chunks - 1].used += bytes;
}

/* Names of functions, and what stacks consist of, are published once, and last. */
static void forget_remembered(void)
{
	unsigned to = 0, n = n_chunks;
	size_t used = 0;

	for (unsigned from = 0; from < n; from++) {
		struct etl_string_entry entry;
		size_t end = chunks[from].used, bytes;

		/* What is kept never overtakes what is read. */
		for (size_t at = 0; at < end; at += bytes) {
			memcpy(&entry, chunks[from].bytes + at, sizeof entry);
			bytes = sizeof entry + padded(entry.length);
			if (!entry.tag)
				continue;
			if (used + bytes > CHUNK_BYTES) {
				chunks[to++].used = used;
				used = 0;
			}
			memmove(chunks[to].bytes + used, chunks[from].bytes + at, bytes);
			used += bytes;
		}
	}
	if (n == 0)
		return;
	chunks[to].used = used;
	n_chunks = to + 1;
	for (unsigned unused = n_chunks; unused < n; unused++) {
		munmap(chunks[unused].bytes, CHUNK_BYTES);
		chunks[unused].used = 0;
	}
	answered_chunks = 0;
	answered_bytes = 0;
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

void etl_intern_begin(void)
{
	struct etl_string_entry entry = { .id = etl_hash("", 0), .flags = ETL_STRINGS_FORGET };
	uint8_t *place;

	if (known.n < MOST_KNOWN && known_bytes < MOST_KNOWN_BYTES)
		return;
	place = reserve(sizeof entry);
	if (!place)
		return; /* the next slot tries again */
	memcpy(place, &entry, sizeof entry);
	etl_keys_clear(&known);
	known_bytes = 0;
	forget_remembered();
}

bool etl_intern_entry(uint64_t id, const void *bytes, size_t length, uint32_t tag, uint32_t flags)
{
	struct etl_string_entry entry = { id, tag, flags, length };
	uint8_t *place = reserve(sizeof entry + padded(length));

	if (!place) {
		no_room = true;
		return false;
	}
	memcpy(place, &entry, sizeof entry);
	memcpy(place + sizeof entry, bytes, length);
	remember(&entry, bytes);
	return true;
}

uint64_t etl_intern(const char *text, size_t length, uint32_t tag, uint32_t flags)
{
	uint64_t id;

	if (length > ETL_MOST_STRING_BYTES) {
		length = ETL_MOST_STRING_BYTES;
		flags |= ETL_STRING_TRUNCATED;
	}
	id = etl_hash(text, length);
	if (!etl_keys_reserve(&known)) {
		no_room = true;
		return id;
	}
	/* A function's name is published for each of its callback ids. */
	if (!tag && etl_keys_have(&known, id))
		return id;
	if (!etl_intern_entry(id, text, length, tag, flags))
		return id; /* not marked as known: the next record tries again */
	if (!etl_keys_have(&known, id)) {
		etl_keys_add(&known, id);
		known_bytes += length;
		if (flags & ETL_STRING_TRUNCATED)
			etl_add(&etl_injector.map.segment->counters.truncated_strings, 1);
	}
	return id;
}

bool etl_intern_flush(void)
{
	bool all = !no_room;

	publish_staged();
	no_room = false;
	return all;
}

/* One entry of those that were remembered; false without a slot for it. */
static bool answer_one(void)
{
	const uint8_t *from = chunks[answered_chunks].bytes + answered_bytes;
	struct etl_string_entry entry;
	uint8_t *place;
	size_t bytes;

	memcpy(&entry, from, sizeof entry);
	bytes = sizeof entry + padded(entry.length);
	place = reserve(bytes);
	if (!place)
		return false;
	memcpy(place, from, bytes);
	answered_bytes += bytes;
	return true;
}

void etl_intern_answer(void)
{
	struct etl_segment *segment = etl_injector.map.segment;
	uint32_t wanted = etl_load(&segment->strings_wanted);
	bool has_room = true;

	if (wanted == etl_peek(&segment->strings_sent))
		return;
	if (answering != wanted) {
		answering = wanted;
		answered_chunks = 0;
		answered_bytes = 0;
	}
	/* The lock is given up after each chunk, so that no callback waits for long.  What is
	 * interned meanwhile is published anyway, and may come twice. */
	for (bool all = false; has_room && !all;) {
		pthread_mutex_lock(&etl_injector.publish);
		while (has_room && answered_chunks < n_chunks &&
		       answered_bytes < chunks[answered_chunks].used)
			has_room = answer_one();
		/* A program without a slot left is asked again at the next flush. */
		publish_staged();
		if (has_room && answered_chunks + 1 < n_chunks) {
			answered_chunks++;
			answered_bytes = 0;
		} else {
			all = has_room;
		}
		/* Release: who sees the number finds the strings in the slots. */
		if (all)
			etl_store(&segment->strings_sent, wanted);
		pthread_mutex_unlock(&etl_injector.publish);
	}
	etl_wakeup_send();
}

void etl_intern_forget(void)
{
	pthread_mutex_lock(&etl_injector.publish);
	etl_keys_clear(&known);
	known_bytes = 0;
	for (unsigned i = 0; i < n_chunks; i++) {
		munmap(chunks[i].bytes, CHUNK_BYTES);
		chunks[i].used = 0;
	}
	n_chunks = 0;
	answering = 0;
	staged = -1;
	no_room = false;
	pthread_mutex_unlock(&etl_injector.publish);
}

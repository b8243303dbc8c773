#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/plan.h"

/* Which size of slot a thread is given: it starts with a small one and gets a large
 * one as soon as it fills it.  Without this, 512 CUDA threads with CUPTI's per-thread
 * buffers would hold 512 MiB.  Indexed by a hash of the thread; a collision only
 * makes a thread take the other size. */
#define N_THREADS 4096
static _Atomic uint8_t wants_large[N_THREADS];
static uint16_t slot_thread[ETL_MAX_STEPS * ETL_SLOTS_PER_STEP];

/* Offsets of the pointers that each activity kind's record holds. */
#define MAX_POINTERS 4
static struct {
	uint8_t n;
	uint16_t offset[MAX_POINTERS];
} pointers[ETL_MAX_KIND];

/* A private buffer for when no slot is free; its records are counted, not kept. */
struct spare {
	struct spare *next;
	uint64_t padding[7]; /* the buffer behind it starts on a cache line */
};

#define SPARE_BYTES ETL_SMALL_BYTES
#define MAX_SPARES 1024
static struct spare *spares;
static unsigned n_spares;
static pthread_mutex_t spares_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t this_thread(void)
{
	return (size_t)((((uint64_t)pthread_self()) * UINT64_C(0x9E3779B97F4A7C15)) >> 52);
}

static uint8_t *take_spare(void)
{
	struct spare *spare;

	pthread_mutex_lock(&spares_lock);
	spare = spares;
	if (spare) {
		spares = spare->next;
	} else if (n_spares < MAX_SPARES ||
		   etl_injector.cupti.version < CUPTI_NULL_BUFFER_SINCE) {
		spare = mmap(NULL, sizeof *spare + SPARE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (spare == MAP_FAILED)
			spare = NULL;
		else
			n_spares++;
	}
	pthread_mutex_unlock(&spares_lock);
	return spare ? (uint8_t *)(spare + 1) : NULL;
}

static void return_spare(uint8_t *buffer, size_t valid)
{
	struct spare *spare = (struct spare *)(void *)buffer - 1;

	memset(buffer, 0, valid);
	pthread_mutex_lock(&spares_lock);
	spare->next = spares;
	spares = spare;
	pthread_mutex_unlock(&spares_lock);
}

void etl_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	int saved = errno;
	struct etl_map *map = &etl_injector.map;
	size_t thread = this_thread();
	bool large = etl_peek(&wants_large[thread]);
	int64_t slot = -1;

	*max_records = 0; /* as many as fit */
	etl_add(&map->segment->counters.requests, 1);
	if (etl_injector_is_ours()) {
		slot = etl_slot_take(map, large);
		if (slot < 0 && etl_segment_grow(map))
			slot = etl_slot_take(map, large);
		if (slot < 0)
			slot = etl_slot_take(map, !large);
	}
	if (slot >= 0) {
		map->slots[slot].held_since_ns = (uint64_t)etl_now_ns();
		slot_thread[slot] = (uint16_t)thread;
		*buffer = etl_slot_data(map, (uint64_t)slot);
		*size = etl_slot_bytes((uint64_t)slot);
	} else {
		etl_add(&map->segment->counters.spares, 1);
		*buffer = take_spare();
		*size = *buffer ? SPARE_BYTES : 0;
	}
	errno = saved;
}

/* The slot that a buffer is, or -1 for a spare. */
static int64_t slot_of(const uint8_t *buffer)
{
	const struct etl_map *map = &etl_injector.map;
	uint64_t at = (uint64_t)(buffer - map->data), step, inside;

	if (buffer < map->data || at >= map->steps * ETL_STEP_BYTES)
		return -1;
	step = at / ETL_STEP_BYTES;
	inside = at % ETL_STEP_BYTES;
	if (inside < ETL_LARGE_PER_STEP * ETL_LARGE_BYTES)
		return (int64_t)(step * ETL_SLOTS_PER_STEP + inside / ETL_LARGE_BYTES);
	inside -= ETL_LARGE_PER_STEP * ETL_LARGE_BYTES;
	return (int64_t)(step * ETL_SLOTS_PER_STEP + ETL_LARGE_PER_STEP +
			 inside / ETL_SMALL_BYTES);
}

static void find_pointers(uint32_t activity)
{
	const struct etl_segment *segment = etl_injector.map.segment;
	int table = etl_table_of(activity);

	pointers[activity].n = 0;
	for (uint32_t i = 0; table >= 0 && i < etl_kinds[table].n_columns; i++)
		if (etl_kinds[table].columns[i].type == ETL_STRING &&
		    segment->layouts[table].width[i] && pointers[activity].n < MAX_POINTERS)
			pointers[activity].offset[pointers[activity].n++] =
				segment->layouts[table].offset[i];
}

void etl_set_stride(uint32_t activity, uint32_t stride)
{
	etl_segment_set_stride(etl_injector.map.segment, activity, stride);
	find_pointers(activity);
}

void etl_set_fields(uint32_t activity, uint32_t stride, const struct etl_field *fields, size_t n)
{
	etl_segment_set_fields(etl_injector.map.segment, activity, stride, fields, n);
	find_pointers(activity);
}

/* How many of the bytes can be told apart, and the records in them, canaries not
 * counted.  Asks CUPTI about kinds whose size is not known; called without a lock for
 * that reason. */
static size_t find_boundaries(uint8_t *buffer, size_t valid, uint64_t *records)
{
	struct etl_segment *segment = etl_injector.map.segment;
	size_t at = 0;

	*records = 0;
	while (at + sizeof(uint32_t) <= valid) {
		uint8_t *next = buffer + at;
		uint32_t kind, stride;

		memcpy(&kind, next, sizeof kind);
		if (kind == 0 || kind >= ETL_MAX_KIND)
			break;
		stride = segment->stride[kind];
		if (stride == 0) {
			if (etl_records->next(buffer, valid, &next) != CUPTI_OK ||
			    next <= buffer + at)
				break;
			stride = (uint32_t)(next - (buffer + at));
			pthread_mutex_lock(&etl_injector.publish);
			etl_set_stride(kind, stride);
			pthread_mutex_unlock(&etl_injector.publish);
		}
		if (at + stride > valid)
			break;
		*records += !etl_canary_mark(buffer + at);
		at += stride;
	}
	return at;
}

static void count_as_lost(uint8_t *buffer, size_t valid)
{
	struct etl_segment *segment = etl_injector.map.segment;
	uint32_t kind;

	for (size_t at = 0; at < valid; at += segment->stride[kind]) {
		memcpy(&kind, buffer + at, sizeof kind);
		if (!etl_canary_mark(buffer + at))
			etl_add(&segment->counters.ring_full[kind], 1);
	}
}

/* Writes a string's key over each pointer; the pointer means nothing elsewhere. */
static void intern_strings(uint8_t *buffer, size_t valid)
{
	const struct etl_segment *segment = etl_injector.map.segment;
	uint32_t kind;

	for (size_t at = 0; at < valid; at += segment->stride[kind]) {
		memcpy(&kind, buffer + at, sizeof kind);
		for (int i = 0; i < pointers[kind].n; i++) {
			uint8_t *place = buffer + at + pointers[kind].offset[i];
			const char *text;
			uint64_t id = 0;

			memcpy(&text, place, sizeof text);
			if (text)
				id = etl_intern(text, strlen(text), 0, 0);
			memcpy(place, &id, sizeof id);
		}
	}
}

void etl_buffer_completed(uint8_t *buffer, size_t size, size_t valid)
{
	int saved = errno;
	struct etl_map *map = &etl_injector.map;
	struct etl_counters *counters = &map->segment->counters;
	int64_t slot = buffer ? slot_of(buffer) : -1;
	size_t readable = 0;
	uint64_t records = 0;

	if (!etl_injector_is_ours())
		return;
	etl_add(&counters->cupti_dropped, etl_records->dropped());
	etl_put(&map->segment->last_return_ns, (uint64_t)etl_now_ns());
	if (!buffer)
		goto out;
	if (valid > size)
		valid = size;
	readable = find_boundaries(buffer, valid, &records);
	etl_add(&counters->handed_over, records);
	etl_add(&counters->unreadable_bytes, valid - readable);
	if (slot < 0) {
		count_as_lost(buffer, readable);
		return_spare(buffer, valid);
		goto out;
	}
	etl_put(&wants_large[slot_thread[slot]], (uint8_t)(valid > ETL_SMALL_BYTES * 3 / 4));
	if (records == 0) {
		memset(buffer, 0, valid);
		etl_slot_free(map, (uint64_t)slot, ETL_HELD);
		goto out;
	}
	pthread_mutex_lock(&etl_injector.publish);
	intern_strings(buffer, readable);
	if (etl_intern_flush()) {
		etl_slot_publish(map, (uint64_t)slot, ETL_RECORDS, (uint32_t)readable);
	} else {
		/* No slot for a new string: without it these records could not be read. */
		count_as_lost(buffer, readable);
		memset(buffer, 0, valid);
		etl_slot_free(map, (uint64_t)slot, ETL_HELD);
	}
	pthread_mutex_unlock(&etl_injector.publish);
	etl_bell_ring();
out:
	errno = saved;
}

uint64_t etl_count_held(void)
{
	const struct etl_map *map = &etl_injector.map;
	uint64_t held = 0;

	for (uint64_t slot = 0; slot < map->geometry.slots; slot++)
		held += etl_peek(&map->slots[slot].state) == ETL_HELD;
	return held;
}

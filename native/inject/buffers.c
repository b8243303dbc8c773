#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "etl/clock.h"
#include "inject/buffers.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/recording.h"
#include "inject/takeover_probe.h"
#include "inject/wakeup.h"
#include "inject/told.h"

/* Which size of slot a thread is given: it starts with a small one and gets a large
 * one as soon as it fills it.  Without this, 512 CUDA threads with CUPTI's per-thread
 * buffers would hold 512 MiB.  Indexed by a hash of the thread; a collision only
 * makes a thread take the other size. */
#define N_THREADS 4096
static _Atomic uint8_t wants_large[N_THREADS];
static uint16_t slot_thread[ETL_MAX_STEPS * ETL_SLOTS_PER_STEP];

static _Atomic bool had_kernels;

/* Offsets of the pointers that each activity kind's record holds. */
#define MAX_POINTERS 4
static struct {
	uint8_t n;
	uint16_t offset[MAX_POINTERS];
} pointers[ETL_MAX_KIND];

/* Private buffers for when no slot is free; their records are counted, not kept.  They lie
 * side by side, so that they can be told from the buffers of another client, which come
 * to us when we take its place. */
#define SPARE_BYTES ETL_SMALL_BYTES
#define MAX_SPARES 1024
/* What CUPTI can need before it takes no for an answer. */
#define MAX_OLD_SPARES 16384
static uint8_t *spares;
static uint32_t free_spares[MAX_OLD_SPARES], n_free, n_spares;
static pthread_mutex_t spares_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t this_thread(void)
{
	return (size_t)((((uint64_t)pthread_self()) * UINT64_C(0x9E3779B97F4A7C15)) >> 52);
}

static uint8_t *take_spare(void)
{
	unsigned most = etl_injector.cupti.version < CUPTI_NULL_BUFFER_SINCE ? MAX_OLD_SPARES :
									       MAX_SPARES;
	uint8_t *spare = NULL;

	pthread_mutex_lock(&spares_lock);
	if (!spares) {
		spares = mmap(NULL, (size_t)MAX_OLD_SPARES * SPARE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (spares == MAP_FAILED)
			spares = NULL;
	}
	if (n_free)
		spare = spares + (size_t)free_spares[--n_free] * SPARE_BYTES;
	else if (spares && n_spares < most)
		spare = spares + (size_t)n_spares++ * SPARE_BYTES;
	pthread_mutex_unlock(&spares_lock);
	return spare;
}

static bool is_spare(const uint8_t *buffer)
{
	return spares && buffer >= spares &&
	       buffer < spares + (size_t)MAX_OLD_SPARES * SPARE_BYTES;
}

static void return_spare(uint8_t *buffer, size_t valid)
{
	memset(buffer, 0, valid);
	pthread_mutex_lock(&spares_lock);
	free_spares[n_free++] = (uint32_t)((size_t)(buffer - spares) / SPARE_BYTES);
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
	if (etl_injector_is_ours())
		slot = etl_slot_take_any(map, large);
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

bool etl_had_kernels(void)
{
	return etl_load(&had_kernels);
}

/* How many of the bytes can be told apart, and the records in them, probes not
 * counted.  Asks CUPTI about kinds whose size is not known; called without a lock for
 * that reason. */
static size_t find_boundaries(uint8_t *buffer, size_t valid, uint64_t *records)
{
	struct etl_segment *segment = etl_injector.map.segment;
	bool has_kernels = false;
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
		if (kind == ETL_ACTIVITY_DEVICE || kind == ETL_ACTIVITY_CONTEXT)
			etl_told(kind, buffer + at);
		has_kernels |= kind == ETL_ACTIVITY_CONCURRENT_KERNEL || kind == ETL_ACTIVITY_KERNEL;
		*records += !etl_takeover_probe_mark(buffer + at);
		at += stride;
	}
	if (has_kernels)
		etl_store(&had_kernels, true);
	return at;
}

static void count_as_lost(uint8_t *buffer, size_t valid)
{
	struct etl_segment *segment = etl_injector.map.segment;
	uint32_t kind;

	for (size_t at = 0; at < valid; at += segment->stride[kind]) {
		memcpy(&kind, buffer + at, sizeof kind);
		if (!etl_takeover_probe_mark(buffer + at))
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

/* Gives a slot with records to the collector, or back if their strings find no room. */
static void publish(uint64_t slot, size_t bytes)
{
	struct etl_map *map = &etl_injector.map;
	uint8_t *data = etl_slot_data(map, slot);

	pthread_mutex_lock(&etl_injector.publish);
	etl_intern_begin();
	intern_strings(data, bytes);
	if (etl_intern_flush()) {
		etl_slot_publish(map, slot, ETL_RECORDS, (uint32_t)bytes);
	} else {
		/* Without a name that is new these records could not be read. */
		count_as_lost(data, bytes);
		memset(data, 0, bytes);
		etl_slot_free(map, slot, ETL_HELD);
	}
	pthread_mutex_unlock(&etl_injector.publish);
	etl_wakeup_send();
}

/* The records of a buffer that another client gave to CUPTI; the buffer stays its own. */
static void take_over(uint8_t *buffer, size_t readable)
{
	const struct etl_segment *segment = etl_injector.map.segment;

	while (readable) {
		int64_t slot = etl_slot_take_any(&etl_injector.map, true);
		size_t bytes = 0;
		uint32_t kind;

		while (slot >= 0 && bytes < readable) {
			memcpy(&kind, buffer + bytes, sizeof kind);
			if (bytes + segment->stride[kind] > etl_slot_bytes((uint64_t)slot))
				break;
			bytes += segment->stride[kind];
		}
		if (bytes == 0) {
			count_as_lost(buffer, readable);
			return;
		}
		memcpy(etl_slot_data(&etl_injector.map, (uint64_t)slot), buffer, bytes);
		publish((uint64_t)slot, bytes);
		buffer += bytes;
		readable -= bytes;
	}
}

void etl_buffer_completed(uint8_t *buffer, size_t size, size_t valid)
{
	int saved = errno;
	struct etl_map *map = &etl_injector.map;
	struct etl_counters *counters = &map->segment->counters;
	int64_t slot = buffer ? slot_of(buffer) : -1;
	size_t readable;
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
	if (is_spare(buffer)) {
		count_as_lost(buffer, readable);
		return_spare(buffer, valid);
		goto out;
	}
	if (slot < 0) {
		take_over(buffer, readable);
		goto out;
	}
	etl_put(&wants_large[slot_thread[slot]], (uint8_t)(valid > ETL_SMALL_BYTES * 3 / 4));
	if (records == 0) {
		memset(buffer, 0, valid);
		etl_slot_free(map, (uint64_t)slot, ETL_HELD);
	} else {
		publish((uint64_t)slot, readable);
	}
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

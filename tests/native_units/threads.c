/* Slots in many hands at once: nothing is lost, doubled, or seen before it is whole.
 * Run under ThreadSanitizer too. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "etl/segment.h"

#define PRODUCERS 3
#ifndef ROUNDS
#define ROUNDS 4000
#endif

static struct etl_map map;
static _Atomic uint64_t produced;
static pthread_mutex_t publish = PTHREAD_MUTEX_INITIALIZER;

static void *produce(void *argument)
{
	uint64_t who = (uint64_t)(uintptr_t)argument;

	for (uint64_t i = 0; i < ROUNDS;) {
		int64_t slot = etl_slot_take(&map, (i & 1) != 0);
		uint64_t *data;

		if (slot < 0)
			continue;
		data = (uint64_t *)(void *)etl_slot_data(&map, (uint64_t)slot);
		CHECK(data[0] == 0); /* the consumer zeroed it before giving it back */
		data[0] = who + 1;
		data[1] = i;
		/* As in the injector: publication is one at a time, in order. */
		pthread_mutex_lock(&publish);
		etl_slot_publish(&map, (uint64_t)slot, ETL_RECORDS, 16);
#ifdef PLANT_RACE
		data[1] = i; /* after it was handed over */
#endif
		pthread_mutex_unlock(&publish);
		etl_add(&produced, 1);
		i++;
	}
	return NULL;
}

int main(void)
{
	uint64_t next[PRODUCERS] = { 0 }, consumed = 0, sequence = 0;
	pthread_t threads[PRODUCERS];
	int fd = -1;

	CHECK(etl_segment_create(1, &map, &fd, NULL) == 0);
	for (uint64_t i = 0; i < PRODUCERS; i++)
		CHECK(pthread_create(&threads[i], NULL, produce, (void *)(uintptr_t)i) == 0);
	while (consumed < (uint64_t)PRODUCERS * ROUNDS) {
		int64_t slot = etl_slot_next(&map);
		uint64_t *data, who;

		if (slot < 0)
			continue;
		CHECK(map.slots[slot].sequence > sequence);
		sequence = map.slots[slot].sequence;
		data = (uint64_t *)(void *)etl_slot_data(&map, (uint64_t)slot);
		who = data[0] - 1;
		CHECK(who < PRODUCERS);
		CHECK(data[1] == next[who]);
		next[who]++;
		consumed++;
		data[0] = data[1] = 0;
		etl_slot_free(&map, (uint64_t)slot, ETL_DRAINING);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	CHECK(etl_load(&produced) == consumed);
	CHECK(etl_slot_next(&map) == -1);
	etl_segment_unmap(&map);
	close(fd);
	return 0;
}

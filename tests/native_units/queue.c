/* The ring with several producers and consumers at once: each value comes out once, and
 * those of one producer in order.  Run under ThreadSanitizer too. */
#include <pthread.h>
#include <sched.h>

#include "check.h"
#include "etl/ring.h"

#define MASK 15
#define PRODUCERS 3
#define CONSUMERS 3
#ifndef ROUNDS
#define ROUNDS 20000
#endif

static struct etl_ring ring;
static struct etl_cell cells[MASK + 1];
static uint8_t seen[PRODUCERS][ROUNDS];
static _Atomic uint64_t consumed;

static void *produce(void *argument)
{
	uint64_t who = (uint64_t)(uintptr_t)argument;

	for (uint64_t i = 0; i < ROUNDS;)
		if (etl_ring_push(&ring, cells, MASK, who << 32 | i))
			i++;
		else
			sched_yield();
	return NULL;
}

static void *consume(void *argument)
{
	int64_t last[PRODUCERS];

	(void)argument;
	for (int i = 0; i < PRODUCERS; i++)
		last[i] = -1;
	while (etl_peek(&consumed) < (uint64_t)PRODUCERS * ROUNDS) {
		uint64_t value, who;
		int64_t number;

		if (!etl_ring_pop(&ring, cells, MASK, &value)) {
			sched_yield();
			continue;
		}
		who = value >> 32;
		number = (int64_t)(value & 0xffffffff);
		CHECK(who < PRODUCERS && number < ROUNDS);
		CHECK(number > last[who]);
		last[who] = number;
		/* Not atomic: only one consumer may ever be here for a value. */
		CHECK(seen[who][number]++ == 0);
		etl_add(&consumed, 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[PRODUCERS + CONSUMERS];

	etl_ring_init(&ring, cells, MASK);
	for (uint64_t i = 0; i < PRODUCERS + CONSUMERS; i++)
		CHECK(pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume,
				     (void *)(uintptr_t)i) == 0);
	for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	for (int who = 0; who < PRODUCERS; who++)
		for (int i = 0; i < ROUNDS; i++)
			CHECK(seen[who][i] == 1);
	return 0;
}

/* The ring: order, bounds, and what it does with scribbled memory. */
#include <string.h>

#include "check.h"
#include "etl/ring.h"

#define MASK 7

static struct etl_ring ring;
static struct etl_cell cells[MASK + 1];

static void keeps_order_and_says_full_and_empty(void)
{
	uint64_t value;

	etl_ring_init(&ring, cells, MASK);
	for (int round = 0; round < 100; round++) {
		CHECK(!etl_ring_pop(&ring, cells, MASK, &value));
		for (uint64_t i = 0; i <= MASK; i++)
			CHECK(etl_ring_push(&ring, cells, MASK, 1000 + i));
		CHECK(!etl_ring_push(&ring, cells, MASK, 5));
		for (uint64_t i = 0; i <= MASK; i++) {
			CHECK(etl_ring_pop(&ring, cells, MASK, &value));
			CHECK(value == 1000 + i);
		}
	}
}

/* Against a plain queue, with random pushes and pops. */
static void behaves_like_a_queue(uint64_t seed)
{
	uint64_t model[MASK + 1], first = 0, length = 0, next = 0, value;

	etl_ring_init(&ring, cells, MASK);
	for (int i = 0; i < 20000; i++) {
		if (random_next(&seed) & 1) {
			CHECK(etl_ring_push(&ring, cells, MASK, next) == (length <= MASK));
			if (length <= MASK)
				model[(first + length++) & MASK] = next;
			next++;
		} else {
			CHECK(etl_ring_pop(&ring, cells, MASK, &value) == (length > 0));
			if (length > 0) {
				CHECK(value == model[first & MASK]);
				first++;
				length--;
			}
		}
	}
}

/* A producer that died between taking its turn and finishing it. */
static void stuck_ring_neither_blocks_nor_invents(void)
{
	uint64_t value;

	etl_ring_init(&ring, cells, MASK);
	CHECK(etl_ring_push(&ring, cells, MASK, 1));
	etl_put(&ring.head, 2); /* turn 1 was taken, its cell never filled */
	CHECK(etl_ring_push(&ring, cells, MASK, 3));
	CHECK(etl_ring_pop(&ring, cells, MASK, &value));
	CHECK(value == 1);
	CHECK(!etl_ring_pop(&ring, cells, MASK, &value));
}

/* Whatever stands in head, tail and turns: no hang, and nothing outside the cells,
 * which the sanitizer watches. */
static void survives_scribbling(uint64_t seed)
{
	for (int round = 0; round < 20000; round++) {
		uint64_t value;

		etl_put(&ring.head, random_next(&seed) >> (random_next(&seed) % 64));
		etl_put(&ring.tail, random_next(&seed) >> (random_next(&seed) % 64));
		for (int i = 0; i <= MASK; i++)
			etl_put(&cells[i].turn, random_next(&seed) >> (random_next(&seed) % 64));
		for (int i = 0; i < 20; i++) {
			(void)etl_ring_push(&ring, cells, MASK, 1);
			(void)etl_ring_pop(&ring, cells, MASK, &value);
		}
	}
}

int main(void)
{
	keeps_order_and_says_full_and_empty();
	for (uint64_t seed = 1; seed <= 20; seed++)
		behaves_like_a_queue(seed);
	stuck_ring_neither_blocks_nor_invents();
	survives_scribbling(7);
	return 0;
}

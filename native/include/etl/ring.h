/* A bounded queue of slot numbers, many producers and many consumers, no locks.
 *
 * Each cell carries a sequence number that says whose turn it is (D. Vyukov's
 * bounded MPMC queue).  A producer or consumer that is killed between taking its
 * turn and finishing it leaves a cell that nobody can pass.  That is why a ring is
 * only a hint: the state word of the slot decides (see segment.h), and whoever finds
 * the ring stuck looks at the states instead.
 *
 * Head, tail and cells lie in memory that another program can scribble over; every
 * function here stays inside the cells whatever it reads.
 */
#pragma once

#include "etl/atomics.h"

struct etl_cell {
	_Atomic uint64_t turn;
	uint64_t value;
};

/* Producers and consumers on separate cache lines, or each push would slow each pop. */
struct etl_ring {
	_Alignas(64) _Atomic uint64_t head; /* next cell to push */
	_Alignas(64) _Atomic uint64_t tail; /* next cell to pop */
};

/* `mask` is the number of cells minus one; the number is a power of two. */
static inline void etl_ring_init(struct etl_ring *ring, struct etl_cell *cells, uint64_t mask)
{
	for (uint64_t i = 0; i <= mask; i++)
		etl_put(&cells[i].turn, i);
	etl_put(&ring->head, 0);
	etl_store(&ring->tail, 0);
}

/* False if the ring is full or stuck. */
static inline bool etl_ring_push(struct etl_ring *ring, struct etl_cell *cells, uint64_t mask,
				 uint64_t value)
{
	uint64_t head = etl_peek(&ring->head);

	for (;;) {
		struct etl_cell *cell = &cells[head & mask];
		/* Acquire: without it the write of `value` below could come before the
		 * consumer of the previous round has read the old one. */
		int64_t ahead = (int64_t)(etl_load(&cell->turn) - head);

		if (ahead == 0) {
			if (atomic_compare_exchange_weak_explicit(&ring->head, &head, head + 1,
								  memory_order_relaxed,
								  memory_order_relaxed)) {
				cell->value = value;
				/* Release: the consumer must not see the turn before the value. */
				etl_store(&cell->turn, head + 1);
				return true;
			}
		} else if (ahead < 0) {
			return false;
		} else {
			uint64_t now = etl_peek(&ring->head);

			if (now == head)
				return false; /* scribbled over: nobody moves, so do not spin */
			head = now;
		}
	}
}

/* False if the ring is empty or stuck. */
static inline bool etl_ring_pop(struct etl_ring *ring, struct etl_cell *cells, uint64_t mask,
				uint64_t *value)
{
	uint64_t tail = etl_peek(&ring->tail);

	for (;;) {
		struct etl_cell *cell = &cells[tail & mask];
		/* Acquire: the value is read only after the turn that announces it. */
		int64_t ahead = (int64_t)(etl_load(&cell->turn) - (tail + 1));

		if (ahead == 0) {
			if (atomic_compare_exchange_weak_explicit(&ring->tail, &tail, tail + 1,
								  memory_order_relaxed,
								  memory_order_relaxed)) {
				*value = cell->value;
				/* Release: the next producer must not write before this read. */
				etl_store(&cell->turn, tail + mask + 1);
				return true;
			}
		} else if (ahead < 0) {
			return false;
		} else {
			uint64_t now = etl_peek(&ring->tail);

			if (now == tail)
				return false;
			tail = now;
		}
	}
}

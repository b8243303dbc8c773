/* What a sampler says to the collector, over a socket: frames, each a head and its bytes.
 *
 *   TEXT     JSON: what will be sampled, what could not be, and in the end how it went
 *   SAMPLES  int64 start_ns[rows], int64 end_ns[rows], then double[rows] for each column
 *   LOSS     struct etl_sample_loss, a range of time without samples
 *
 * Both ends are on one machine and of one build, so numbers are as they lie in memory.
 *
 * A collector that is busy for a second must not hold up decoding, because what the hardware
 * counts meanwhile is lost.  So what the socket does not take waits here, and one thread sends
 * it when there is room. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "etl/abi.h"

struct frame_block;

struct frames {
	int fd;
	pthread_mutex_t lock;
	pthread_cond_t sent; /* something that waited */
	bool is_gone; /* nobody reads any more */
	size_t most; /* bytes that may wait; beyond, whoever wants to send does */
	size_t waiting;
	struct frame_block *first, **last;
};

struct frame_piece {
	const void *data;
	size_t bytes;
};

void frames_init(struct frames *frames, size_t most);
void frames_free(struct frames *frames);

/* Sends a frame whole, or puts it behind what waits; after the reader has gone, nothing. */
void frames_send(struct frames *frames, uint32_t type, uint32_t device, uint64_t rows,
		 const struct frame_piece *pieces, size_t n);

/* Sends what waits, as far as the socket takes it at once; whether something still waits. */
bool frames_push(struct frames *frames);

/* Sends all that waits, however long that takes; nobody else may send any more. */
void frames_finish(struct frames *frames);

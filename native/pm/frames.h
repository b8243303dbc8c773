/* What a sampler says to the collector, over a socket: frames, each a head and its bytes.
 *
 *   TEXT     JSON: what will be sampled, what could not be, and in the end how it went
 *   SAMPLES  int64 start_ns[rows], int64 end_ns[rows], then double[rows] for each metric
 *   LOSS     struct etl_sample_loss, a range of time without samples
 *
 * Both ends are on one machine and of one build, so numbers are as they lie in memory. */
#ifndef ETL_PM_FRAMES_H
#define ETL_PM_FRAMES_H

#include <pthread.h>
#include <stdatomic.h>

#include "etl/abi.h"

struct frames {
	int fd;
	pthread_mutex_t lock;
	atomic_bool is_gone; /* nobody reads any more */
};

struct frame_piece {
	const void *data;
	size_t bytes;
};

/* Sends a frame whole, waiting while the socket is full; after the reader has gone, nothing. */
void frames_send(struct frames *frames, uint32_t type, uint32_t device, uint64_t rows,
		 const struct frame_piece *pieces, size_t n);

#endif

/* Rows that the injector makes itself gather in a slot, for all threads, until it is full or the
 * timer comes by. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct etl_row_slot {
	uint32_t content; /* enum etl_content */
	uint32_t row_bytes;
	pthread_mutex_t lock;
	int64_t slot; /* -1: none */
	uint32_t rows;
};

#define ETL_ROW_SLOT(content, type) { content, sizeof(type), PTHREAD_MUTEX_INITIALIZER, -1, 0 }

/* Copies a row and counts it; among the lost if there is no slot. */
void etl_row_slot_add(struct etl_row_slot *to, const void *row, _Atomic uint64_t *made,
		      _Atomic uint64_t *lost);
/* Publishes what has gathered. */
void etl_row_slot_flush(struct etl_row_slot *to);

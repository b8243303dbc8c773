/* Rows that the injector makes itself gather in a slot, for all threads, until it is full or the
 * timer comes by. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct etl_row_slot {
	uint32_t content; /* enum etl_content */
	uint32_t row_bytes; /* of rows that are all of one size; else 0 */
	pthread_mutex_t lock;
	int64_t slot; /* -1: none */
	uint32_t used; /* bytes of it */
};

#define ETL_ROW_SLOT(content, type) { content, sizeof(type), PTHREAD_MUTEX_INITIALIZER, -1, 0 }
#define ETL_ROW_SLOT_OF_MIXED(content) { content, 0, PTHREAD_MUTEX_INITIALIZER, -1, 0 }

/* Copies a row and counts it; among the lost if there is no slot. */
void etl_row_slot_add(struct etl_row_slot *to, const void *row, _Atomic uint64_t *made,
		      _Atomic uint64_t *lost);
/* Copies a row of several parts, and pads it to 8 bytes; it fits a small slot.  False if there is
 * no slot. */
bool etl_row_slot_write(struct etl_row_slot *to, const struct iovec *parts, int n);
/* Publishes what has gathered. */
void etl_row_slot_flush(struct etl_row_slot *to);
/* What has gathered is of another capture, or of the parent of this process. */
void etl_row_slot_forget(struct etl_row_slot *to);

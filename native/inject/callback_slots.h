/* Where events go: slots of a segment, each readable alone (see etl/callbacks.h). */
#pragma once

#include <pthread.h>

#include "etl/callbacks.h"
#include "etl/segment.h"

#define ETL_SLOT_TEXTS 512u

struct etl_callback_slots {
	struct etl_map *map;
	/* One slot for all threads, held until it is full or somebody hands it over. */
	pthread_mutex_t lock;
	int64_t slot; /* -1: none */
	uint32_t used;
	bool is_busy; /* it filled a slot since it was last handed over early */
	/* Of the texts that are in the slot: where, by their hash. */
	uint32_t serial;
	struct {
		uint64_t hash;
		uint32_t serial, at;
	} texts[ETL_SLOT_TEXTS];
	_Atomic uint64_t *events, *lost;
};

/* A text and its hash, which the caller may keep. */
struct etl_callback_string {
	const char *text; /* NULL: none */
	size_t length;
	uint64_t hash;
};

/* To a segment, whose counters count. */
void etl_callback_slots_init(struct etl_callback_slots *slots, struct etl_map *map);
/* Appends an event; the texts' places are filled in.  True if a slot became full thereby. */
bool etl_callback_slots_add(struct etl_callback_slots *slots, struct etl_callback_event *event,
		  const struct etl_callback_string *function, const struct etl_callback_string *text);
/* Hands over what has gathered. */
void etl_callback_slots_flush(struct etl_callback_slots *slots);

/* Who is to hear of which callbacks: the capture, for its table, and what a Python program asks
 * for. */
#pragma once

#include "inject/callback_names.h"

#define ETL_CAPTURE_WATCH 0 /* the others are a program's */
#define ETL_WATCHES 17

/* Takes `number`'s place for the callbacks of a selection (see etl/callbacks.h), which go to `fn`
 * or to a segment.  0 or -errno. */
int etl_watch_begin(int number, const char *selection, etl_callback_fn fn, void *data,
		    struct etl_map *map, struct etl_error *error);
/* A place that is free, which is the caller's then; -1: none is. */
int etl_watch_reserve(void);
/* Nothing more is handed out. */
void etl_watch_stop(int number);
/* Stops, and waits until no callback is at it. */
void etl_watch_end(int number);
/* Behind the end: the number may be another's. */
void etl_watch_free(int number);
bool etl_watch_is_on(int number);
struct etl_callback_slots *etl_watch_slots(int number);
uint64_t etl_watch_callbacks(int number);
/* Waits until a slot is full, or for so long; of one that has stopped, for its last events. */
void etl_watch_wait(int number, int timeout_ms);

/* Whether somebody who is on, or only a watch, wants a callback. */
bool etl_watch_any(void);
bool etl_watch_wants(uint32_t domain, uint32_t cbid);
bool etl_watch_has(int number, uint32_t domain, uint32_t cbid);
/* What the subscriber does about a callback. */
void etl_watch_call(uint32_t domain, uint32_t cbid, const void *info);
/* In the child of a fork: there are none. */
void etl_watch_forget(void);

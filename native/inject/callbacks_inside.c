/* Callbacks for a Python program, with a capture or without: see etl/callbacks.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "inject/callback_watch.h"
#include "inject/callbacks.h"
#include "inject/session.h"

/* Of the watches that gather, where their slots lie. */
static struct etl_map maps[ETL_WATCHES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add_hook(void)
{
	/* The child of a fork cannot use CUDA. */
	pthread_atfork(NULL, NULL, etl_callbacks_forget);
}

int cupti_etl_callbacks_load(struct etl_error *error)
{
	int code = etl_session_load_cupti(error);

	if (code == 0)
		etl_callback_names_load();
	return code;
}

int cupti_etl_callbacks_name(uint32_t domain, uint32_t cbid, const char **name)
{
	const struct etl_callback_name *found = etl_callback_name(domain, cbid);

	*name = found ? found->text.text : NULL;
	return found ? (int)found->text.length : -1;
}

static int make_memory(int number, uint32_t buffer_mb, struct etl_error *error)
{
	uint32_t steps = buffer_mb / (uint32_t)(ETL_STEP_BYTES >> 20);
	int fd, code = etl_segment_create(steps ? steps : 1, &maps[number], &fd, error);

	if (code == 0)
		close(fd); /* the mapping stays */
	return code;
}

static int begin(int number, const char *selection, etl_callback_fn fn, void *data,
		 uint32_t buffer_mb, struct etl_error *error)
{
	int code = fn ? 0 : make_memory(number, buffer_mb, error);

	if (code < 0)
		return code;
	code = etl_watch_begin(number, selection, fn, data, &maps[number], error);
	if (code == 0)
		code = etl_callbacks_add(number, error);
	return code;
}

int cupti_etl_callbacks_start(const char *selection, etl_callback_fn fn, void *data,
			      uint32_t buffer_mb, struct etl_error *error)
{
	int number, code = cupti_etl_callbacks_load(error);

	if (code < 0)
		return code;
	pthread_once(&once, add_hook);
	number = etl_watch_reserve();
	if (number < 0)
		return etl_fail(error, EBUSY, "%d sets of callbacks are on already", ETL_WATCHES - 1);
	code = begin(number, selection, fn, data, buffer_mb, error);
	if (code < 0) {
		cupti_etl_callbacks_close(number);
		return code;
	}
	return number;
}

void cupti_etl_callbacks_stop(int number)
{
	etl_watch_stop(number);
}

int cupti_etl_callbacks_next(int number, int timeout_ms, struct etl_slot_view *out)
{
	struct etl_map *map = &maps[number];
	int64_t slot = etl_slot_next(map);

	if (slot < 0 && timeout_ms >= 0) {
		etl_watch_wait(number, timeout_ms);
		etl_callback_slots_flush(etl_watch_slots(number));
		slot = etl_slot_next(map);
	}
	if (slot < 0)
		return 0;
	*out = (struct etl_slot_view){ .slot = slot,
				       .data = etl_slot_data(map, (uint64_t)slot),
				       .bytes = map->slots[slot].bytes,
				       .content = map->slots[slot].content };
	return 1;
}

void cupti_etl_callbacks_release(int number, int64_t slot)
{
	etl_slot_free(&maps[number], (uint64_t)slot, ETL_DRAINING);
}

void cupti_etl_callbacks_count(int number, struct etl_callback_counts *out)
{
	const struct etl_segment *segment = maps[number].segment;

	*out = (struct etl_callback_counts){ .callbacks = etl_watch_callbacks(number) };
	if (segment) {
		out->events = etl_peek(&segment->counters.callbacks);
		out->lost = etl_peek(&segment->counters.callbacks_lost);
	}
}

void cupti_etl_callbacks_close(int number)
{
	etl_callbacks_remove(number);
	if (maps[number].segment)
		etl_segment_unmap(&maps[number]);
	maps[number].segment = NULL;
	etl_watch_free(number);
}

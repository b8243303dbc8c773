#include <string.h>

#include "etl/clock.h"
#include "inject/callback_sink.h"

void etl_sink_init(struct etl_sink *sink, struct etl_map *map)
{
	pthread_mutex_init(&sink->lock, NULL);
	sink->map = map;
	sink->slot = -1;
	sink->used = 0;
	sink->is_busy = false;
	sink->events = &map->segment->counters.callbacks;
	sink->lost = &map->segment->counters.callbacks_lost;
}

static void hand_over(struct etl_sink *sink)
{
	if (sink->slot >= 0)
		etl_slot_publish(sink->map, (uint64_t)sink->slot, ETL_CALLBACKS, sink->used);
	sink->slot = -1;
}

static bool take_slot(struct etl_sink *sink)
{
	struct etl_map *map = sink->map;
	int64_t slot = etl_slot_take(map, sink->is_busy);

	if (slot < 0 && etl_segment_grow(map))
		slot = etl_slot_take(map, sink->is_busy);
	if (slot < 0)
		slot = etl_slot_take(map, !sink->is_busy);
	if (slot < 0)
		return false;
	map->slots[slot].held_since_ns = (uint64_t)etl_now_ns();
	sink->slot = slot;
	sink->used = 0;
	sink->serial++;
	return true;
}

static uint32_t text_bytes(size_t length)
{
	return (uint32_t)(sizeof(struct etl_callback_text) + ((length + 7) & ~(size_t)7));
}

static size_t cut(size_t length)
{
	return length < ETL_MOST_CALLBACK_TEXT ? length : ETL_MOST_CALLBACK_TEXT;
}

/* The text's place in the slot, which has room for it. */
static uint32_t place(struct etl_sink *sink, const struct etl_sink_text *text)
{
	struct etl_callback_text entry = { .type = ETL_CALLBACK_TEXT };
	uint32_t at = sink->used, i = (uint32_t)(text->hash % ETL_SINK_TEXTS);
	uint8_t *data = etl_slot_data(sink->map, (uint64_t)sink->slot) + at;

	if (!text->text)
		return ETL_NO_TEXT;
	if (sink->texts[i].hash == text->hash && sink->texts[i].serial == sink->serial)
		return sink->texts[i].at;
	entry.length = (uint32_t)cut(text->length);
	entry.bytes = text_bytes(entry.length);
	memcpy(data, &entry, sizeof entry);
	memcpy(data + sizeof entry, text->text, entry.length);
	sink->texts[i].hash = text->hash;
	sink->texts[i].serial = sink->serial;
	sink->texts[i].at = at;
	sink->used += entry.bytes;
	return at;
}

bool etl_sink_add(struct etl_sink *sink, struct etl_callback_event *event,
		  const struct etl_sink_text *function, const struct etl_sink_text *text)
{
	/* At most: both texts may be there already. */
	uint32_t needed = text_bytes(cut(function->length)) + text_bytes(cut(text->length)) +
			  (uint32_t)sizeof *event;
	bool is_full = false;

	event->bytes = sizeof *event;
	event->type = ETL_CALLBACK_EVENT;
	pthread_mutex_lock(&sink->lock);
	etl_add(sink->events, 1);
	if (sink->slot >= 0 && sink->used + needed > etl_slot_bytes((uint64_t)sink->slot)) {
		hand_over(sink);
		is_full = sink->is_busy = true;
	}
	if (sink->slot < 0 && !take_slot(sink)) {
		etl_add(sink->lost, 1);
	} else {
		event->function = place(sink, function);
		event->text = place(sink, text);
		memcpy(etl_slot_data(sink->map, (uint64_t)sink->slot) + sink->used, event, sizeof *event);
		sink->used += (uint32_t)sizeof *event;
	}
	pthread_mutex_unlock(&sink->lock);
	return is_full;
}

void etl_sink_flush(struct etl_sink *sink)
{
	pthread_mutex_lock(&sink->lock);
	hand_over(sink);
	sink->is_busy = false;
	pthread_mutex_unlock(&sink->lock);
}

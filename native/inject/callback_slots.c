#include <string.h>

#include "etl/clock.h"
#include "inject/callback_slots.h"

void etl_callback_slots_init(struct etl_callback_slots *slots, struct etl_map *map)
{
	pthread_mutex_init(&slots->lock, NULL);
	slots->map = map;
	slots->slot = -1;
	slots->used = 0;
	slots->is_busy = false;
	slots->events = &map->segment->counters.callbacks;
	slots->lost = &map->segment->counters.callbacks_lost;
}

static void hand_over(struct etl_callback_slots *slots)
{
	if (slots->slot >= 0)
		etl_slot_publish(slots->map, (uint64_t)slots->slot, ETL_CALLBACKS, slots->used);
	slots->slot = -1;
}

static bool take_slot(struct etl_callback_slots *slots)
{
	struct etl_map *map = slots->map;
	int64_t slot = etl_slot_take_any(map, slots->is_busy);

	if (slot < 0)
		return false;
	map->slots[slot].held_since_ns = (uint64_t)etl_now_ns();
	slots->slot = slot;
	slots->used = 0;
	slots->serial++;
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
static uint32_t place(struct etl_callback_slots *slots, const struct etl_callback_string *text)
{
	struct etl_callback_text entry = { .type = ETL_CALLBACK_TEXT };
	uint32_t at = slots->used, i = (uint32_t)(text->hash % ETL_SLOT_TEXTS);
	uint8_t *data = etl_slot_data(slots->map, (uint64_t)slots->slot) + at;

	if (!text->text)
		return ETL_NO_TEXT;
	if (slots->texts[i].hash == text->hash && slots->texts[i].serial == slots->serial)
		return slots->texts[i].at;
	entry.length = (uint32_t)cut(text->length);
	entry.bytes = text_bytes(entry.length);
	memcpy(data, &entry, sizeof entry);
	memcpy(data + sizeof entry, text->text, entry.length);
	slots->texts[i].hash = text->hash;
	slots->texts[i].serial = slots->serial;
	slots->texts[i].at = at;
	slots->used += entry.bytes;
	return at;
}

bool etl_callback_slots_add(struct etl_callback_slots *slots, struct etl_callback_event *event,
		  const struct etl_callback_string *function, const struct etl_callback_string *text)
{
	/* At most: both texts may be there already. */
	uint32_t needed = text_bytes(cut(function->length)) + text_bytes(cut(text->length)) +
			  (uint32_t)sizeof *event;
	bool is_full = false;

	event->bytes = sizeof *event;
	event->type = ETL_CALLBACK_EVENT;
	pthread_mutex_lock(&slots->lock);
	etl_add(slots->events, 1);
	if (slots->slot >= 0 && slots->used + needed > etl_slot_bytes((uint64_t)slots->slot)) {
		hand_over(slots);
		is_full = slots->is_busy = true;
	}
	if (slots->slot < 0 && !take_slot(slots)) {
		etl_add(slots->lost, 1);
	} else {
		event->function = place(slots, function);
		event->text = place(slots, text);
		memcpy(etl_slot_data(slots->map, (uint64_t)slots->slot) + slots->used, event, sizeof *event);
		slots->used += (uint32_t)sizeof *event;
	}
	pthread_mutex_unlock(&slots->lock);
	return is_full;
}

void etl_callback_slots_flush(struct etl_callback_slots *slots)
{
	pthread_mutex_lock(&slots->lock);
	hand_over(slots);
	slots->is_busy = false;
	pthread_mutex_unlock(&slots->lock);
}

#include <string.h>

#include "etl/clock.h"
#include "inject/injector.h"
#include "inject/row_slot.h"
#include "inject/wakeup.h"

/* With the lock held. */
static bool hand_over(struct etl_row_slot *to)
{
	if (to->slot < 0 || to->used == 0)
		return false;
	etl_slot_publish(&etl_injector.map, (uint64_t)to->slot, to->content, to->used);
	to->slot = -1;
	to->used = 0;
	return true;
}

/* Where a row of so many bytes goes, or NULL. */
static uint8_t *room_for(struct etl_row_slot *to, uint32_t bytes, bool *is_full)
{
	uint8_t *place;

	if (to->slot >= 0 && to->used + bytes > etl_slot_bytes((uint64_t)to->slot))
		*is_full = hand_over(to);
	if (to->slot < 0) {
		to->slot = etl_slot_take_any(&etl_injector.map, false);
		if (to->slot < 0)
			return NULL;
		etl_injector.map.slots[to->slot].held_since_ns = (uint64_t)etl_now_ns();
	}
	place = etl_slot_data(&etl_injector.map, (uint64_t)to->slot) + to->used;
	to->used += bytes;
	return place;
}

bool etl_row_slot_write(struct etl_row_slot *to, const struct iovec *parts, int n)
{
	bool is_full = false;
	size_t bytes = 0;
	uint8_t *place;

	for (int i = 0; i < n; i++)
		bytes += parts[i].iov_len;
	pthread_mutex_lock(&to->lock);
	place = room_for(to, (uint32_t)(bytes + 7) & ~7u, &is_full);
	for (int i = 0; place && i < n; i++) {
		memcpy(place, parts[i].iov_base, parts[i].iov_len);
		place += parts[i].iov_len;
	}
	pthread_mutex_unlock(&to->lock);
	if (is_full)
		etl_wakeup_send();
	return place != NULL;
}

void etl_row_slot_add(struct etl_row_slot *to, const void *row, _Atomic uint64_t *made,
		      _Atomic uint64_t *lost)
{
	const struct iovec whole = { (void *)(uintptr_t)row, to->row_bytes };

	etl_add(made, 1);
	if (!etl_row_slot_write(to, &whole, 1))
		etl_add(lost, 1);
}

void etl_row_slot_flush(struct etl_row_slot *to)
{
	bool is_any;

	pthread_mutex_lock(&to->lock);
	is_any = hand_over(to);
	pthread_mutex_unlock(&to->lock);
	if (is_any)
		etl_wakeup_send();
}

void etl_row_slot_forget(struct etl_row_slot *to)
{
	/* A thread of the parent may have held it. */
	to->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	to->slot = -1;
	to->used = 0;
}

#include <string.h>

#include "etl/clock.h"
#include "inject/buffers.h"
#include "inject/injector.h"
#include "inject/row_slot.h"
#include "inject/wakeup.h"

/* With the lock held. */
static void hand_over(struct etl_row_slot *to)
{
	if (to->slot < 0 || to->rows == 0)
		return;
	etl_slot_publish(&etl_injector.map, (uint64_t)to->slot, to->content,
			 to->rows * to->row_bytes);
	to->slot = -1;
	to->rows = 0;
}

void etl_row_slot_add(struct etl_row_slot *to, const void *row, _Atomic uint64_t *made,
		      _Atomic uint64_t *lost)
{
	bool is_full = false;

	pthread_mutex_lock(&to->lock);
	/* Nobody else adds to these. */
	etl_put(made, etl_peek(made) + 1);
	if (to->slot < 0) {
		to->slot = etl_take_any_slot(false);
		if (to->slot >= 0)
			etl_injector.map.slots[to->slot].held_since_ns = (uint64_t)etl_now_ns();
	}
	if (to->slot < 0) {
		etl_put(lost, etl_peek(lost) + 1);
	} else {
		memcpy(etl_slot_data(&etl_injector.map, (uint64_t)to->slot) +
			       to->rows * to->row_bytes,
		       row, to->row_bytes);
		to->rows++;
		is_full = (to->rows + 1) * to->row_bytes > etl_slot_bytes((uint64_t)to->slot);
		if (is_full)
			hand_over(to);
	}
	pthread_mutex_unlock(&to->lock);
	if (is_full)
		etl_wakeup_send();
}

void etl_row_slot_flush(struct etl_row_slot *to)
{
	pthread_mutex_lock(&to->lock);
	hand_over(to);
	pthread_mutex_unlock(&to->lock);
}

/* The slots that a process has filled: taken, and given back. */
#include <string.h>

#include "decode/process.h"

int etl_process_next(struct etl_process *process, struct etl_slot_view *out)
{
	const struct etl_slot *line;
	int64_t slot;

	if (process->is_loaded)
		return 0;
	slot = etl_slot_next(&process->map);
	if (slot < 0)
		return 0;
	line = &process->map.slots[slot];
	out->slot = slot;
	out->data = etl_slot_data(&process->map, (uint64_t)slot);
	out->bytes = line->bytes;
	out->content = line->content;
	out->sequence = line->sequence;
	if (out->bytes > etl_slot_bytes((uint64_t)slot))
		out->bytes = (uint32_t)etl_slot_bytes((uint64_t)slot);
	return 1;
}

void etl_process_release(struct etl_process *process, int64_t slot)
{
	if (process->is_loaded || slot < 0 || (uint64_t)slot >= process->map.geometry.slots)
		return;
	/* CUPTI was told that its buffers are zero. */
	memset(etl_slot_data(&process->map, (uint64_t)slot), 0, etl_slot_bytes((uint64_t)slot));
	etl_slot_free(&process->map, (uint64_t)slot, ETL_DRAINING);
}

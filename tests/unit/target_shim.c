/* The traced side of a segment, for tests that play the target from Python. */
#include <string.h>

#include "etl/segment.h"

#define SHIM __attribute__((visibility("default")))

SHIM void target_select(uint32_t which);
SHIM int target_create(uint64_t process_id, uint32_t version);
SHIM void target_stride(uint32_t kind, uint32_t stride);
SHIM int target_publish(const uint8_t *data, uint32_t bytes, uint32_t content, uint64_t records);
SHIM int target_publish_small(const uint8_t *data, uint32_t bytes, uint64_t records);
SHIM int target_hold(void);
SHIM int target_free_slots(void);
SHIM void target_state(uint32_t state);

static struct etl_map maps[2], *map = maps;

/* Which of the targets the other functions are about. */
void target_select(uint32_t which)
{
	map = &maps[which];
}

int target_create(uint64_t process_id, uint32_t version)
{
	int fd = -1;

	etl_segment_unmap(map);
	if (etl_segment_create(1, map, &fd, NULL) < 0)
		return -1;
	map->segment->process_id = process_id;
	map->segment->cupti_version = version;
	map->segment->start_ns = 1000;
	map->segment->rank = map->segment->local_rank = map->segment->world_size = ETL_NO_NUMBER;
	map->segment->slurm_job_id = map->segment->slurm_proc_id = ETL_NO_NUMBER;
	etl_store(&map->segment->state, ETL_TRACING);
	return fd;
}

void target_stride(uint32_t kind, uint32_t stride)
{
	etl_segment_set_stride(map->segment, kind, stride);
}

static int publish(bool large, const uint8_t *data, uint32_t bytes, uint32_t content,
		   uint64_t records)
{
	int64_t slot = etl_slot_take(map, large);

	if (slot < 0)
		return -1;
	memcpy(etl_slot_data(map, (uint64_t)slot), data, bytes);
	etl_add(&map->segment->counters.handed_over, records);
	etl_slot_publish(map, (uint64_t)slot, content, bytes);
	return (int)slot;
}

int target_publish(const uint8_t *data, uint32_t bytes, uint32_t content, uint64_t records)
{
	return publish(true, data, bytes, content, records);
}

int target_publish_small(const uint8_t *data, uint32_t bytes, uint64_t records)
{
	return publish(false, data, bytes, ETL_RECORDS, records);
}

int target_hold(void)
{
	return (int)etl_slot_take(map, true);
}

int target_free_slots(void)
{
	int n = 0;

	for (uint64_t slot = 0; slot < map->geometry.slots; slot++)
		n += etl_peek(&map->slots[slot].state) == ETL_FREE;
	return n;
}

void target_state(uint32_t state)
{
	etl_store(&map->segment->state, state);
}

/* A traced program that writes nonsense all over its segment: the collector neither
 * crashes nor hangs, and reads nothing outside. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "decode/decode.h"

#ifndef ROUNDS
#define ROUNDS 400
#endif

static uint64_t seed = 5;

static uint64_t word(void)
{
	return random_next(&seed) >> (random_next(&seed) % 64);
}

static void scribble(void *memory, size_t bytes, unsigned words)
{
	uint64_t *place = memory;

	for (unsigned i = 0; i < words; i++)
		place[random_next(&seed) % (bytes / 8)] = word();
}

/* Slots in random states, with lengths, contents and bytes of all sorts. */
static void fill_slots(struct etl_map *map)
{
	for (int i = 0; i < 12; i++) {
		uint64_t slot = random_next(&seed) % map->geometry.slots;
		struct etl_slot *line = &map->slots[slot];
		uint64_t *data = (uint64_t *)(void *)etl_slot_data(map, slot);

		for (int j = 0; j < 500; j++)
			data[j] = j % 3 ? word() : random_next(&seed) % 64;
		line->bytes = random_next(&seed) & 1 ? (uint32_t)word() : 4000;
		line->content = (uint32_t)(random_next(&seed) % 4);
		line->sequence = word();
		etl_store(&line->state, random_next(&seed) % 3 ? ETL_FULL : word());
		(void)etl_ring_push(&map->segment->full, map->full, map->geometry.full_mask, word());
	}
}

static void drain(struct etl_decoder *decoder, struct etl_process *process, uint64_t slots)
{
	char message[ETL_MESSAGE_BYTES];
	struct etl_process_info info;
	struct etl_slot_view view;
	uint64_t taken = 0;

	while (etl_process_next(process, &view)) {
		CHECK(view.slot >= 0 && (uint64_t)view.slot < slots);
		CHECK(view.bytes <= etl_slot_bytes((uint64_t)view.slot));
		CHECK(etl_process_decode(process, view.data, view.bytes, view.content, message) == 0);
		etl_process_release(process, view.slot);
		/* Nobody publishes now, so each slot is full once at most. */
		CHECK(++taken <= slots);
	}
	etl_process_get_info(process, &info);
	CHECK(memchr(info.host, 0, sizeof info.host) && memchr(info.argv, 0, sizeof info.argv));
	CHECK(memchr(info.detail, 0, sizeof info.detail));
	CHECK(memchr(info.cupti_path, 0, sizeof info.cupti_path));
	CHECK(info.process_id <= INT64_MAX);
	for (int kind = -1; kind <= ETL_MAX_KIND; kind++) {
		(void)etl_process_stride(process, kind);
		(void)etl_process_ring_full(process, kind);
	}
	for (int table = 0; table < etl_table_count(); table++) {
		struct ArrowArray array;

		CHECK(etl_decoder_take(decoder, table, &array) == 0);
		array.release(&array);
	}
}

int main(void)
{
	struct etl_decoder *decoder = etl_decoder_new();
	char message[ETL_MESSAGE_BYTES];
	struct etl_process *process;
	struct etl_map map;
	size_t head;
	int fd = -1;

	CHECK(etl_segment_create(2, &map, &fd, NULL) == 0);
	process = etl_process_attach(decoder, fd, message);
	CHECK(process);
	head = map.geometry.rings_at + 4096;
	for (int round = 0; round < ROUNDS; round++) {
		scribble(map.segment, head, 400);
		for (uint32_t kind = 1; kind < 64; kind++)
			if (random_next(&seed) % 4)
				map.segment->stride[kind] = (uint32_t)(random_next(&seed) % 300);
		etl_add(&map.segment->layout_generation, 1);
		fill_slots(&map);
		drain(decoder, process, map.geometry.slots);
	}
	etl_process_free(process);
	etl_decoder_free(decoder);
	etl_segment_unmap(&map);
	close(fd);
	return 0;
}

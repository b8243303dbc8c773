/* A traced program that writes nonsense all over its segment: the collector neither
 * crashes nor hangs, and reads nothing outside. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "decode/process.h"

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

/* Layouts that the checks of widths alone let pass: columns anywhere. */
static void move_columns(struct etl_segment *segment)
{
	for (int table = 0; table < ETL_N_KINDS; table++)
		for (uint32_t i = 0; i < etl_kinds[table].n_columns; i++)
			if (random_next(&seed) % 4 == 0) {
				segment->layouts[table].width[i] = etl_kinds[table].columns[i].width;
				segment->layouts[table].offset[i] =
					(uint16_t)(random_next(&seed) % 400);
			}
}

/* Texts without an end. */
static void fill_texts(struct etl_segment *segment)
{
	memset(segment->host, 'h', sizeof segment->host);
	memset(segment->cupti_path, 'c', sizeof segment->cupti_path);
	memset(segment->argv, 'a', sizeof segment->argv);
	memset(segment->detail, 'd', sizeof segment->detail);
}

/* Records that end where the slot's bytes end. */
static void fill_with_records(struct etl_map *map)
{
	for (uint64_t slot = 0; slot < 8; slot++) {
		struct etl_slot *line = &map->slots[slot];
		uint8_t *data = etl_slot_data(map, slot);
		uint32_t at = 0;

		for (int i = 0; i < 20; i++) {
			uint32_t kind = (uint32_t)(1 + random_next(&seed) % 63);

			if (map->segment->stride[kind] < 8 || map->segment->stride[kind] > 300)
				continue;
			memcpy(data + at, &kind, sizeof kind);
			at += map->segment->stride[kind];
		}
		line->bytes = at;
		line->content = ETL_RECORDS;
		etl_store(&line->state, ETL_FULL);
	}
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
	struct etl_error error;
	struct etl_process_info info;
	struct etl_slot_view view;
	uint64_t taken = 0;
	uint8_t *copy;

	while (etl_process_next(process, &view)) {
		CHECK(view.slot >= 0 && (uint64_t)view.slot < slots);
		CHECK(view.bytes <= etl_slot_bytes((uint64_t)view.slot));
		/* A copy that is exactly as long, so that a read behind it is seen. */
		copy = malloc(view.bytes ? view.bytes : 1);
		memcpy(copy, view.data, view.bytes);
		CHECK(etl_process_decode(process, copy, view.bytes, view.content, &error) == 0);
		free(copy);
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
	for (int table = 0; table < ETL_N_KINDS; table++) {
		struct ArrowArray array;

		CHECK(etl_decoder_take(decoder, table, &array) == 0);
		array.release(&array);
	}
}

int main(void)
{
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_error error;
	struct etl_process *process;
	struct etl_map map;
	size_t head;
	int fd = -1;

	CHECK(etl_segment_create(2, &map, &fd, NULL) == 0);
	map.segment->process_id = UINT64_MAX;
	process = etl_process_map(decoder, fd, &error);
	CHECK(process);
	head = map.geometry.rings_at + 4096;
	for (int round = 0; round < ROUNDS; round++) {
		scribble(map.segment, head, 400);
		for (uint32_t kind = 1; kind < 64; kind++)
			if (random_next(&seed) % 4)
				map.segment->stride[kind] = (uint32_t)(random_next(&seed) % 300);
		move_columns(map.segment);
		fill_texts(map.segment);
		etl_add(&map.segment->layout_generation, 1);
		fill_slots(&map);
		fill_with_records(&map);
		drain(decoder, process, map.geometry.slots);
	}
	etl_process_free(process);
	etl_decoder_free(decoder);
	etl_segment_unmap(&map);
	close(fd);
	return 0;
}

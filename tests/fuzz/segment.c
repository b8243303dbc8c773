/* Fuzz target: a segment that is written over, before it is attached and while it is read.
 *
 *	seals 1, size 1 (0: right), is detached 1
 *	patches: (when 1, region 1, offset 2, length 1, bytes) until the end
 *
 * A patch is written before attach, after it, or while a slot is decoded. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define MOST_PATCHES 64

struct patch {
	uint8_t when, length;
	uint64_t at;
	const uint8_t *bytes;
};

static struct patch patches[MOST_PATCHES];
static int n_patches;

/* Where things are that matter: a fuzzer finds few bytes in 34 MiB. */
static uint64_t place_of(const struct etl_geometry *g, uint64_t region, uint64_t offset)
{
	switch (region % 6) {
	case 0:
		return offset % sizeof(struct etl_segment);
	case 1: /* state, bytes and content of some slots */
		return g->slots_at + offset % (16 * sizeof(struct etl_slot));
	case 2:
		return g->rings_at + offset % 4096;
	case 3:
		return g->data_at + offset % 8192;
	case 4:
		return offsetof(struct etl_segment, stride) +
		       offset % (offsetof(struct etl_segment, counters) -
				 offsetof(struct etl_segment, stride));
	default: /* counters, the last window and the rings behind it */
		return sizeof(struct etl_segment) - 256 + offset % 256;
	}
}

static void read_patches(struct input *input, const struct etl_geometry *g)
{
	for (n_patches = 0; n_patches < MOST_PATCHES && input->left > 5; n_patches++) {
		struct patch *patch = &patches[n_patches];
		uint64_t region;

		patch->when = (uint8_t)take_number(input, 1) % 3;
		region = take_number(input, 1);
		patch->at = place_of(g, region, take_number(input, 2));
		patch->length = (uint8_t)take_number(input, 1);
		if (patch->length > input->left)
			patch->length = (uint8_t)input->left;
		patch->bytes = input->at;
		input->at += patch->length;
		input->left -= patch->length;
	}
}

static void write_patches(struct etl_map *map, int when)
{
	for (int i = 0; i < n_patches; i++)
		if (patches[i].when == when)
			memcpy((uint8_t *)map->segment + patches[i].at, patches[i].bytes,
			       patches[i].length);
}

/* What an injector leaves there: sizes, layouts, a full slot of strings and one of records. */
static void fill(struct etl_map *map)
{
	struct etl_string_entry entry = { .length = 4 };
	int64_t slot;
	uint8_t *data;
	uint32_t kind = 10;

	map->segment->process_id = 7;
	map->segment->cupti_version = 130500;
	for (uint32_t i = 1; i < 64; i++)
		etl_segment_set_stride(map->segment, i, i == 10 ? 248 : 8 * (i % 30 + 2));
	for (int i = 0; i < 2; i++) {
		slot = etl_slot_take(map, i == 1);
		data = etl_slot_data(map, (uint64_t)slot);
		entry.id = etl_hash("name", 4);
		memcpy(data, &entry, sizeof entry);
		memcpy(data + sizeof entry, "name", 4);
		if (i == 1)
			for (uint32_t at = 0; at < 4 * 248; at += 248)
				memcpy(data + at, &kind, sizeof kind);
		etl_slot_publish(map, (uint64_t)slot, i == 0 ? ETL_STRINGS : ETL_RECORDS,
				 i == 0 ? 32 : 4 * 248);
	}
	etl_store(&map->segment->windows_opened, 1);
}

static void read_all(struct etl_decoder *decoder, struct etl_process *process, struct etl_map *map)
{
	struct etl_error error;
	struct etl_process_info info;
	struct etl_slot_view view;
	struct etl_window window;
	uint64_t taken = 0;
	uint32_t windows = 0;

	while (etl_process_next(process, &view)) {
		CHECK(view.slot >= 0 && (uint64_t)view.slot < map->geometry.slots);
		CHECK(view.bytes <= etl_slot_bytes((uint64_t)view.slot));
#ifdef PLANT_BUG
		/* Trusts what stands in the slot. */
		CHECK(map->slots[view.slot].bytes <= etl_slot_bytes((uint64_t)view.slot));
#endif
		CHECK(etl_process_decode(process, view.data, view.bytes, view.content, &error) ==
		      0);
		write_patches(map, 2);
		etl_process_release(process, view.slot);
		if (++taken > 4 * map->geometry.slots)
			break; /* we make slots full ourselves */
	}
	etl_process_get_info(process, &info);
	CHECK(memchr(info.host, 0, sizeof info.host) && memchr(info.argv, 0, sizeof info.argv));
	CHECK(memchr(info.detail, 0, sizeof info.detail));
	CHECK(memchr(info.cupti_path, 0, sizeof info.cupti_path));
	CHECK(info.held <= map->geometry.slots);
	for (uint32_t number = 0; etl_process_window(process, &number, &window); number++)
		CHECK(++windows <= ETL_WINDOWS);
	for (int table = 0; table < ETL_N_KINDS; table++) {
		struct etl_place place;

		etl_process_get_place(process, table, 0, &place);
	}
	take_batches(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	uint64_t seals = take_number(&input, 1), wrong = take_number(&input, 1);
	bool is_detached = take_number(&input, 1) & 1;
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_error error;
	struct etl_process *process;
	struct etl_map map;
	int fd = -1, sent;

	CHECK(decoder && etl_segment_create(1, &map, &fd, NULL) == 0);
	fill(&map);
	read_patches(&input, &map.geometry);
	write_patches(&map, 0);
	sent = fd;
	if (seals || wrong) { /* a file of its own, sealed and as long as the input says */
		sent = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		CHECK(pwrite(sent, map.segment, map.geometry.data_at, 0) > 0);
		CHECK(ftruncate(sent, (off_t)(map.geometry.bytes - 4096 * wrong)) == 0);
		(void)fcntl(sent, F_ADD_SEALS, (int)seals & 0xf);
	}
	process = etl_process_map(decoder, sent, &error);
	if (process && sent != fd)
		CHECK(seals & F_SEAL_SHRINK && wrong == 0);
	if (process && sent == fd) {
		write_patches(&map, 1);
		read_all(decoder, process, &map);
		if (is_detached) {
			CHECK(etl_process_detach(process, &error) == 0);
			read_all(decoder, process, &map);
		}
	}
	if (sent != fd)
		close(sent);
	etl_process_free(process);
	etl_decoder_free(decoder);
	etl_segment_unmap(&map);
	close(fd);
	return 0;
}

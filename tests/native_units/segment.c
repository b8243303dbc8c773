/* The segment: geometry, slot life, stale hints, dead producers, refusals. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "etl/segment.h"

static void geometry_leaves_no_hole_and_no_overlap(void)
{
	struct etl_geometry g;

	CHECK(etl_geometry(0, &g) < 0);
	CHECK(etl_geometry(ETL_MAX_STEPS + 1, &g) < 0);
	for (uint32_t steps = 1; steps <= ETL_MAX_STEPS; steps++) {
		CHECK(etl_geometry(steps, &g) == 0);
		CHECK(g.slots_at >= sizeof(struct etl_segment));
		CHECK(g.rings_at >= g.slots_at + g.slots * sizeof(struct etl_slot));
		CHECK(g.full_mask + 1 >= g.slots);
		for (uint64_t slot = 0; slot + 1 < g.slots; slot++)
			CHECK(etl_slot_offset(slot) + etl_slot_bytes(slot) ==
			      etl_slot_offset(slot + 1));
	}
}

static void slots_live_their_life(void)
{
	struct etl_map map;
	int fd = -1;
	int64_t taken[ETL_LARGE_PER_STEP];

	CHECK(etl_segment_create(2, &map, &fd, NULL) == 0);
	CHECK(etl_load(&map.segment->steps_live) == 1);
	for (int i = 0; i < ETL_LARGE_PER_STEP; i++) {
		taken[i] = etl_slot_take(&map, true);
		CHECK(taken[i] >= 0 && etl_slot_is_large((uint64_t)taken[i]));
	}
	CHECK(etl_slot_take(&map, true) == -1);
	CHECK(etl_slot_take(&map, false) >= 0);
	CHECK(etl_segment_grow(&map));
	CHECK(etl_slot_take(&map, true) >= ETL_SLOTS_PER_STEP);
	CHECK(!etl_segment_grow(&map));
	/* In order of publication, not of number. */
	for (int i = ETL_LARGE_PER_STEP - 1; i >= 0; i--)
		etl_slot_publish(&map, (uint64_t)taken[i], ETL_RECORDS, (uint32_t)i);
	for (int i = ETL_LARGE_PER_STEP - 1; i >= 0; i--) {
		CHECK(etl_slot_next(&map) == taken[i]);
		etl_slot_free(&map, (uint64_t)taken[i], ETL_DRAINING);
	}
	CHECK(etl_slot_next(&map) == -1);
	/* A slot whose state is not the expected one stays out of use. */
	etl_slot_free(&map, (uint64_t)taken[0], ETL_DRAINING);
	CHECK(etl_load(&map.slots[taken[0]].state) == ETL_FREE);
	etl_segment_unmap(&map);
	close(fd);
}

static void dead_producers_block_nobody(void)
{
	struct etl_map map;
	int fd = -1;
	int64_t first, second;

	CHECK(etl_segment_create(1, &map, &fd, NULL) == 0);
	first = etl_slot_take(&map, true);
	second = etl_slot_take(&map, true);
	/* Killed between FULL and the hint. */
	map.slots[first].sequence = 1;
	etl_store(&map.slots[first].state, ETL_FULL);
	CHECK(etl_slot_next(&map) == first);
	etl_slot_free(&map, (uint64_t)first, ETL_DRAINING);
	/* Killed with a turn of the ring taken: later hints cannot pass, the scan can. */
	etl_add(&map.segment->full.head, 1);
	map.segment->sequence = 1;
	etl_slot_publish(&map, (uint64_t)second, ETL_RECORDS, 8);
	CHECK(etl_slot_next(&map) == second);
	/* A free slot behind a stuck ring is found too. */
	etl_add(&map.segment->large.tail, ETL_LARGE_PER_STEP);
	CHECK(etl_slot_take(&map, true) >= 0);
	etl_segment_unmap(&map);
	close(fd);
}

/* A hint of an earlier publication must not make the slot's next one come early. */
static void stale_hints_change_no_order(void)
{
	struct etl_map map;
	int fd = -1;
	int64_t a, b;

	CHECK(etl_segment_create(1, &map, &fd, NULL) == 0);
	a = etl_slot_take(&map, true);
	b = etl_slot_take(&map, true);
	CHECK(etl_ring_push(&map.segment->full, map.full, map.geometry.full_mask,
			    UINT64_C(99) << 16 | (uint64_t)b));
	etl_slot_publish(&map, (uint64_t)a, ETL_STRINGS, 8);
	etl_slot_publish(&map, (uint64_t)b, ETL_RECORDS, 8);
	CHECK(etl_slot_next(&map) == a);
	CHECK(etl_slot_next(&map) == b);
	etl_segment_unmap(&map);
	close(fd);
}

static void refuse(int fd, const char *words)
{
	struct etl_error error = { "" };
	struct etl_map map;

	CHECK(etl_segment_map(fd, &map, &error) < 0);
	if (!strstr(error.message, words)) {
		fprintf(stderr, "%s\n", error.message);
		exit(1);
	}
	CHECK(map.segment == NULL);
}

static int copy_of(const struct etl_map *map, int seals, off_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(ftruncate(fd, size) == 0);
	CHECK(pwrite(fd, map->segment, sizeof *map->segment, 0) >= 0);
	CHECK(fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static void attach_trusts_nothing(void)
{
	struct etl_map map, other;
	int fd = -1, bad;
	off_t size;

	CHECK(etl_segment_create(1, &map, &fd, NULL) == 0);
	size = (off_t)map.geometry.bytes;
	CHECK(etl_segment_map(fd, &other, NULL) == 0);
	CHECK(other.geometry.bytes == map.geometry.bytes);
	etl_segment_unmap(&other);
	CHECK(ftruncate(fd, 4096) < 0); /* sealed */

	bad = copy_of(&map, F_SEAL_GROW, size);
	refuse(bad, "not sealed");
	close(bad);
	bad = copy_of(&map, F_SEAL_SHRINK, size - 4096);
	refuse(bad, "size does not fit");
	close(bad);
	bad = memfd_create("short", MFD_ALLOW_SEALING);
	CHECK(ftruncate(bad, 100) == 0 && fcntl(bad, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	refuse(bad, "shorter than its header");
	close(bad);
	map.segment->steps = ETL_MAX_STEPS + 1;
	bad = copy_of(&map, F_SEAL_SHRINK, size);
	refuse(bad, "size does not fit");
	close(bad);
	map.segment->steps = 1;
	map.segment->fingerprint++;
	refuse(fd, "another build");
	map.segment->fingerprint--;
	map.segment->version++;
	refuse(fd, "not a segment");
	bad = open("/dev/null", O_RDWR);
	refuse(bad, "not sealed");
	close(bad);
	etl_segment_unmap(&map);
	close(fd);
}

/* Two activities can feed one table, and the size of one of them be unknown. */
static void an_unknown_size_changes_no_layout(void)
{
	uint32_t activity = 0, other;
	struct etl_map map;
	int fd = -1, table = 0;

	while (!etl_kinds[table].activities[1])
		table++;
	activity = etl_kinds[table].activities[0];
	other = etl_kinds[table].activities[1];
	CHECK(etl_segment_create(1, &map, &fd, NULL) == 0);
	map.segment->cupti_version = UINT32_MAX;
	etl_segment_set_stride(map.segment, activity, 512);
	for (int size = 0; size <= 512; size += 512) {
		etl_segment_set_stride(map.segment, other, (uint32_t)size);
		CHECK(map.segment->stride[other] == (uint32_t)size);
		for (uint32_t i = 0; i < etl_kinds[table].n_columns; i++)
			CHECK(map.segment->layouts[table].width[i] ==
			      etl_kinds[table].columns[i].width);
	}
	etl_segment_unmap(&map);
	close(fd);
}

static void a_file_size_limit_is_respected(void)
{
	struct rlimit before, low = { 1 << 20, 1 << 20 };
	struct etl_error error = { "" };
	struct etl_map map;
	int fd = -1;

	CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
	low.rlim_max = before.rlim_max;
	CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
	CHECK(etl_segment_create(1, &map, &fd, &error) < 0); /* and no SIGXFSZ */
	CHECK(strstr(error.message, "RLIMIT_FSIZE"));
	CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

int main(void)
{
	geometry_leaves_no_hole_and_no_overlap();
	slots_live_their_life();
	dead_producers_block_nobody();
	stale_hints_change_no_order();
	attach_trusts_nothing();
	an_unknown_size_changes_no_layout();
	a_file_size_limit_is_respected();
	return 0;
}

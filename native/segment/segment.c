#include "etl/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

_Static_assert(ETL_LARGE_PER_STEP * ETL_LARGE_BYTES + ETL_SMALL_PER_STEP * ETL_SMALL_BYTES ==
		       ETL_STEP_BYTES,
	       "a step is exactly its slots");
_Static_assert(ETL_MAX_STEPS * ETL_SLOTS_PER_STEP <= 0x10000, "a slot number fits a hint's 16 bits");

static uint64_t power_of_two(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static uint64_t align(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

int etl_geometry(uint32_t steps, struct etl_geometry *out)
{
	uint64_t cells;

	if (steps < 1 || steps > ETL_MAX_STEPS)
		return -EINVAL;
	out->slots = (uint64_t)steps * ETL_SLOTS_PER_STEP;
	out->large_mask = power_of_two((uint64_t)steps * ETL_LARGE_PER_STEP) - 1;
	out->small_mask = power_of_two((uint64_t)steps * ETL_SMALL_PER_STEP) - 1;
	out->full_mask = power_of_two(out->slots) - 1;
	cells = out->large_mask + out->small_mask + out->full_mask + 3;
	out->slots_at = align(sizeof(struct etl_segment), 4096);
	out->rings_at = align(out->slots_at + out->slots * sizeof(struct etl_slot), 4096);
	out->data_at = align(out->rings_at + cells * sizeof(struct etl_cell), UINT64_C(2) << 20);
	out->bytes = out->data_at + steps * ETL_STEP_BYTES;
	return 0;
}

static void set_pointers(struct etl_map *map, void *base)
{
	uint8_t *bytes = base;

	map->segment = base;
	map->slots = (void *)(bytes + map->geometry.slots_at);
	map->large = (void *)(bytes + map->geometry.rings_at);
	map->small = map->large + map->geometry.large_mask + 1;
	map->full = map->small + map->geometry.small_mask + 1;
	map->data = bytes + map->geometry.data_at;
}

int etl_segment_create(uint32_t steps, struct etl_map *map, int *fd, struct etl_error *error)
{
	struct rlimit limit;
	void *base;
	int code;

	memset(map, 0, sizeof *map);
	if (etl_geometry(steps, &map->geometry) < 0)
		return etl_fail(error, EINVAL, "a segment of %u steps cannot be", steps);
	map->steps = steps;
	/* Growing a file beyond RLIMIT_FSIZE raises SIGXFSZ, which would kill the
	 * program that we are a guest of. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < map->geometry.bytes)
		return etl_fail(error, EFBIG,
				"the file size limit (RLIMIT_FSIZE) is below the %llu bytes of the "
				"shared segment",
				(unsigned long long)map->geometry.bytes);
	*fd = memfd_create("cupti-etl", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return etl_fail(error, errno, "memfd_create: %s", strerror(errno));
	if (ftruncate(*fd, (off_t)map->geometry.bytes) < 0) {
		code = etl_fail(error, errno, "no shared memory of %llu bytes: %s",
				(unsigned long long)map->geometry.bytes, strerror(errno));
		goto close_fd;
	}
	if (fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		code = etl_fail(error, errno, "the shared segment cannot be sealed: %s",
				strerror(errno));
		goto close_fd;
	}
	base = mmap(NULL, map->geometry.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (base == MAP_FAILED) {
		code = etl_fail(error, errno, "the shared segment cannot be mapped: %s",
				strerror(errno));
		goto close_fd;
	}
	set_pointers(map, base);
	map->segment->version = ETL_SEGMENT_VERSION;
	map->segment->steps = steps;
	map->segment->fingerprint = ETL_FINGERPRINT;
	etl_ring_init(&map->segment->large, map->large, map->geometry.large_mask);
	etl_ring_init(&map->segment->small, map->small, map->geometry.small_mask);
	etl_ring_init(&map->segment->full, map->full, map->geometry.full_mask);
	map->segment->magic = ETL_MAGIC;
	etl_segment_grow(map);
	return 0;

close_fd:
	close(*fd);
	*fd = -1;
	return code;
}

int etl_segment_map(int fd, struct etl_map *map, struct etl_error *error)
{
	struct etl_segment head;
	off_t size;
	void *base;
	int seals;

	memset(map, 0, sizeof *map);
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return etl_fail(error, EPERM, "the segment is not sealed against shrinking");
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return etl_fail(error, errno, "lseek: %s", strerror(errno));
	if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
		return etl_fail(error, EPROTO, "the segment is shorter than its header");
	if (head.magic != ETL_MAGIC || head.version != ETL_SEGMENT_VERSION)
		return etl_fail(error, EPROTO, "this is not a segment of version %d",
				ETL_SEGMENT_VERSION);
	if (head.fingerprint != ETL_FINGERPRINT)
		return etl_fail(error, EPROTO,
				"the injected library is of another build (%016llx, not "
				"%016llx): run `make generate` and `make native` in a "
				"checkout, else reinstall cupti-etl",
				(unsigned long long)head.fingerprint,
				(unsigned long long)ETL_FINGERPRINT);
	if (etl_geometry(head.steps, &map->geometry) < 0 ||
	    (uint64_t)size != map->geometry.bytes)
		return etl_fail(error, EPROTO, "the segment's size does not fit its header");
	map->steps = head.steps;
	base = mmap(NULL, map->geometry.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return etl_fail(error, errno, "the segment cannot be mapped: %s", strerror(errno));
	set_pointers(map, base);
	return 0;
}

void etl_segment_unmap(struct etl_map *map)
{
	if (map->segment)
		munmap(map->segment, map->geometry.bytes);
	map->segment = NULL;
}

static void layout_changed(struct etl_segment *segment)
{
	/* Release: whoever sees the new generation sees the layout. */
	atomic_fetch_add_explicit(&segment->layout_generation, 1, memory_order_release);
}

void etl_segment_set_stride(struct etl_segment *segment, uint32_t activity, uint32_t stride)
{
	int table = etl_table_of(activity);

	segment->stride[activity] = stride;
	/* A size that could not be found says nothing of the table's other activities. */
	for (uint32_t i = 0; stride && table >= 0 && i < etl_kinds[table].n_columns; i++) {
		const struct etl_column *column = &etl_kinds[table].columns[i];
		struct etl_layout *layout = &segment->layouts[table];
		bool there = column->width && segment->cupti_version >= column->since &&
			     column->offset + column->width <= stride &&
			     (!column->n_only || column->only_at + 4u <= stride);

		layout->offset[i] = column->offset;
		layout->width[i] = there ? column->width : 0;
		layout->only_at[i] = column->n_only ? column->only_at : ETL_ANYWHERE;
	}
	layout_changed(segment);
}

static const struct etl_field *find_field(const struct etl_field *fields, size_t n, int id)
{
	for (size_t i = 0; id >= 0 && i < n; i++)
		if (fields[i].id == id)
			return &fields[i];
	return NULL;
}

void etl_segment_set_fields(struct etl_segment *segment, uint32_t activity, uint32_t stride,
			    const struct etl_field *fields, size_t n)
{
	int table = etl_table_of(activity);

	segment->stride[activity] = stride;
	for (uint32_t i = 0; table >= 0 && i < etl_kinds[table].n_columns; i++) {
		const struct etl_column *column = &etl_kinds[table].columns[i];
		const struct etl_field *field = find_field(fields, n, column->field);
		const struct etl_field *only = find_field(fields, n, column->only_field);
		struct etl_layout *layout = &segment->layouts[table];
		uint32_t width = 0;

		/* Of a field that holds a union, the column is a part of a known width. */
		if (field)
			width = column->field_at || field->size > 8 ? column->width : field->size;
		if (!field || column->field_at + width > field->size ||
		    field->offset + field->size > stride || !etl_width_fits(column, width) ||
		    (column->only_field >= 0 && (!only || only->offset + 4 > stride)))
			width = 0;
		layout->offset[i] = field ? (uint16_t)(field->offset + column->field_at) : 0;
		layout->width[i] = (uint8_t)width;
		layout->only_at[i] = only ? (uint16_t)only->offset : ETL_ANYWHERE;
	}
	layout_changed(segment);
}

static void offer(struct etl_map *map, uint64_t slot)
{
	/* A push that fails leaves the slot FREE, and the search in etl_slot_take()
	 * finds it: the ring is only the fast way. */
	if (etl_slot_is_large(slot))
		(void)etl_ring_push(&map->segment->large, map->large, map->geometry.large_mask,
				    slot);
	else
		(void)etl_ring_push(&map->segment->small, map->small, map->geometry.small_mask,
				    slot);
}

bool etl_segment_grow(struct etl_map *map)
{
	uint32_t live = etl_load(&map->segment->steps_live);

	do {
		if (live >= map->steps)
			return false;
	} while (!atomic_compare_exchange_weak(&map->segment->steps_live, &live, live + 1));
	for (uint64_t i = 0; i < ETL_SLOTS_PER_STEP; i++) {
		uint64_t slot = live * (uint64_t)ETL_SLOTS_PER_STEP + i;

		/* Release: a slot is free only after the file's zero pages stand behind it. */
		etl_store(&map->slots[slot].state, ETL_FREE);
		offer(map, slot);
	}
	return true;
}

int64_t etl_slot_take(struct etl_map *map, bool large)
{
	struct etl_ring *ring = large ? &map->segment->large : &map->segment->small;
	struct etl_cell *cells = large ? map->large : map->small;
	uint64_t mask = large ? map->geometry.large_mask : map->geometry.small_mask;
	uint64_t live, slot;

	while (etl_ring_pop(ring, cells, mask, &slot))
		if (slot < map->geometry.slots && etl_slot_is_large(slot) == large &&
		    etl_claim(&map->slots[slot].state, ETL_FREE, ETL_HELD))
			return (int64_t)slot;
	/* Empty, or stuck because somebody died half-way through a push. */
	live = etl_load(&map->segment->steps_live);
	if (live > map->steps)
		live = map->steps;
	for (slot = 0; slot < live * ETL_SLOTS_PER_STEP; slot++)
		if (etl_slot_is_large(slot) == large &&
		    etl_claim(&map->slots[slot].state, ETL_FREE, ETL_HELD))
			return (int64_t)slot;
	return -1;
}

int64_t etl_slot_take_any(struct etl_map *map, bool large)
{
	int64_t slot = etl_slot_take(map, large);

	if (slot < 0 && etl_segment_grow(map))
		slot = etl_slot_take(map, large);
	return slot < 0 ? etl_slot_take(map, !large) : slot;
}

void etl_slot_free(struct etl_map *map, uint64_t slot, uint64_t from_state)
{
	/* If the state is not the expected one, somebody scribbled over it; then the
	 * slot stays out of use rather than in two hands. */
	if (etl_claim(&map->slots[slot].state, from_state, ETL_FREE))
		offer(map, slot);
}

void etl_slot_publish(struct etl_map *map, uint64_t slot, uint32_t content, uint32_t bytes)
{
	struct etl_slot *line = &map->slots[slot];

	line->content = content;
	line->bytes = bytes;
	line->sequence = etl_add(&map->segment->sequence, 1) + 1;
	etl_add(&map->segment->counters.published, 1);
	/* Release: the collector must see the records, the strides and the length
	 * before it sees FULL. */
	etl_store(&line->state, ETL_FULL);
	/* The hint names the publication, not only the slot: a stale one must not make
	 * the collector take the slot's next content out of order. */
	(void)etl_ring_push(&map->segment->full, map->full, map->geometry.full_mask,
			    line->sequence << 16 | slot);
}

/* The full slot that was published first, among those that this look can see. */
static int64_t first_full(const struct etl_map *map)
{
	uint64_t live = etl_load(&map->segment->steps_live), first = UINT64_MAX;
	int64_t found = -1;

	if (live > map->steps)
		live = map->steps;
	for (uint64_t slot = 0; slot < live * ETL_SLOTS_PER_STEP; slot++)
		if (etl_load(&map->slots[slot].state) == ETL_FULL &&
		    map->slots[slot].sequence < first) {
			first = map->slots[slot].sequence;
			found = (int64_t)slot;
		}
	return found;
}

int64_t etl_slot_next(struct etl_map *map)
{
	uint64_t hint, slot;
	int64_t found;

	/* Each hint at most once: the ring could be filled as fast as it is emptied. */
	for (uint64_t tries = 0;
	     tries <= map->geometry.full_mask &&
	     etl_ring_pop(&map->segment->full, map->full, map->geometry.full_mask, &hint);
	     tries++) {
		slot = hint & 0xffff;
		if (slot < map->geometry.slots && etl_load(&map->slots[slot].state) == ETL_FULL &&
		    map->slots[slot].sequence == hint >> 16 &&
		    etl_claim(&map->slots[slot].state, ETL_FULL, ETL_DRAINING))
			return (int64_t)slot;
	}
	/* Empty, or stuck because a producer died between FULL and the push.  Look twice:
	 * while the first look goes over the slots, one that it has passed can become
	 * full, and then one before it that was published later.  But whatever was
	 * published before the slot that the first look found is full by now. */
	if (first_full(map) < 0)
		return -1;
	found = first_full(map);
	if (found >= 0 && etl_claim(&map->slots[found].state, ETL_FULL, ETL_DRAINING))
		return found;
	return -1;
}

void etl_segment_renew(struct etl_map *map)
{
	struct etl_segment *segment = map->segment;

	/* What no collector took, if it was killed. */
	for (uint64_t slot = 0; slot < map->geometry.slots; slot++) {
		uint64_t state = etl_load(&map->slots[slot].state);

		if (state != ETL_FULL && state != ETL_DRAINING)
			continue;
		memset(etl_slot_data(map, slot), 0, etl_slot_bytes(slot));
		etl_slot_free(map, slot, state);
	}
	etl_store(&segment->state, 0);
	segment->is_selected = 0;
	segment->detail[0] = '\0';
	etl_put(&segment->last_flush_ns, 0);
	etl_put(&segment->last_return_ns, 0);
	etl_put(&segment->finished_ns, 0);
	etl_put(&segment->settled_ns, 0);
	etl_put(&segment->taken_ns, 0);
	etl_put(&segment->regained_ns, 0);
	etl_store(&segment->strings_wanted, 0);
	etl_store(&segment->strings_sent, 0);
	etl_put(&segment->drained, 0);
#define FORGET(name) etl_put(&segment->name##_drained, 0);
	ETL_EACH_DRAINED(FORGET)
	etl_put(&segment->drained_ns, 0);
	memset(&segment->counters, 0, sizeof segment->counters);
	etl_store(&segment->windows_opened, 0);
}

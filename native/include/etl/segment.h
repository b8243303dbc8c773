/* The shared memory of one traced process: memory map and rules.
 *
 *	┌────────────────────┐ 0
 *	│ struct etl_segment │ who, strides, layouts, counters
 *	├────────────────────┤ slots_at
 *	│ struct etl_slot[]  │ one line a slot; its state word is the truth
 *	├────────────────────┤ rings_at
 *	│ cells              │ of the rings large, small and full: hints
 *	├────────────────────┤ data_at
 *	│ step 0             │ 28 slots of 1 MiB, then 64 of 64 KiB
 *	│ step 1 ...         │ (sparse until it is used)
 *	└────────────────────┘
 *
 * Life of a slot:  UNUSED → FREE → HELD (by CUPTI) → FULL → DRAINING → FREE.
 * Every change is made by whoever wins the compare-and-swap of the state word.
 *
 * The traced process writes the segment, so for the collector it is hostile input:
 * sizes come from etl_geometry(), never from the segment, except the number of steps,
 * which is checked once and kept in private memory.
 */
#pragma once

#include "etl/abi.h"
#include "etl/error.h"
#include "etl/kinds.h"
#include "etl/ring.h"

#define ETL_MAGIC UINT64_C(0x314745534c5445) /* "ETLSEG1" */
#define ETL_SEGMENT_VERSION 2

#define ETL_LARGE_BYTES (UINT64_C(1) << 20)
#define ETL_SMALL_BYTES (UINT64_C(64) << 10)
#define ETL_LARGE_PER_STEP 28
#define ETL_SMALL_PER_STEP 64
#define ETL_SLOTS_PER_STEP (ETL_LARGE_PER_STEP + ETL_SMALL_PER_STEP)
#define ETL_STEP_BYTES (UINT64_C(32) << 20)
#define ETL_MAX_STEPS 128

enum etl_slot_state { ETL_UNUSED, ETL_FREE, ETL_HELD, ETL_FULL, ETL_DRAINING };

/* One cache line, so that two threads at two slots do not share one. */
struct etl_slot {
	_Alignas(64) _Atomic uint64_t state;
	uint64_t sequence; /* order of publication, from 1 */
	uint64_t held_since_ns;
	uint32_t bytes; /* valid bytes */
	uint32_t content; /* enum etl_content */
};

/* How the records of one table lie in this process. */
struct etl_layout {
	uint16_t offset[ETL_MAX_COLUMNS];
	uint8_t width[ETL_MAX_COLUMNS]; /* 0: the record has no such member */
	uint16_t only_at[ETL_MAX_COLUMNS]; /* see etl_column; ETL_ANYWHERE: no condition */
};

#define ETL_ANYWHERE UINT16_MAX

/* A field of a user-defined record, as CUPTI lays it out. */
struct etl_field {
	int32_t id;
	uint32_t offset, size;
};

/* Why the range profiler leaves a launch out. */
enum etl_left_out {
	ETL_LEFT_OUT_COOPERATIVE,
	ETL_LEFT_OUT_GRAPH,
	ETL_LEFT_OUT_COMMUNICATION, /* between GPUs, which waits for others */
	ETL_LEFT_OUT_OTHER,
	ETL_LEFT_OUT_REASONS,
};

/* Only ever added to; read by the collector at any time. */
struct etl_counters {
	_Atomic uint64_t handed_over; /* records that CUPTI returned to us */
	_Atomic uint64_t cupti_dropped;
	_Atomic uint64_t unreadable_bytes; /* behind a record of unknown size */
	_Atomic uint64_t published; /* slots */
	_Atomic uint64_t requests;
	_Atomic uint64_t spares; /* requests that found no slot */
	_Atomic uint64_t flushes;
	_Atomic uint64_t truncated_strings;
	_Atomic uint64_t stacks, stacks_lost; /* see struct etl_process_info */
	_Atomic uint64_t callbacks, callbacks_lost;
	_Atomic uint64_t graph_nodes, graph_nodes_lost;
	_Atomic uint64_t nccl_events, nccl_events_lost, nccl_too_old;
	_Atomic uint64_t pc_rows, pc_rows_lost, pc_dropped, pc_full;
	_Atomic int64_t pc_failure;
	_Atomic uint64_t sass_dropped;
	_Atomic int64_t sass_failure;
	_Atomic uint64_t range_rows, range_rows_lost, range_launches, range_dropped;
	_Atomic uint64_t range_ns; /* that launches took to be measured */
	_Atomic uint64_t range_groups; /* lists that the metrics were split into */
	_Atomic uint64_t range_left_out[ETL_LEFT_OUT_REASONS];
	_Atomic int64_t range_failure;
	_Atomic uint64_t held_at_end; /* slots that CUPTI never returned */
	_Atomic uint64_t ring_full[ETL_MAX_KIND]; /* records, by activity kind */
};

#define ETL_NO_NUMBER INT64_MIN

/* The last so many are kept; the collector looks around every few milliseconds. */
#define ETL_WINDOWS 1024

/* What a process counts when it makes it, a decoder when it has read it, and the header, with
 * _drained, for a collector that comes later. */
#define ETL_EACH_DRAINED(DO)                                                                       \
	DO(stacks) DO(callbacks) DO(graph_nodes) DO(nccl_events) DO(pc_rows) DO(range_rows)

struct etl_segment {
	uint64_t magic;
	uint32_t version;
	uint32_t steps; /* at most; fixed */
	uint64_t fingerprint; /* of what both sides were built from */
	uint64_t process_id;
	int64_t start_ns;
	int32_t pid;
	int32_t parent_pid;
	uint32_t cupti_version;
	int32_t driver_version;
	uint32_t is_selected; /* records hold only chosen fields */
	int64_t rank, local_rank, world_size, slurm_job_id, slurm_proc_id;
	uint32_t replay_run; /* see struct etl_process_info */
	char host[128];
	char cupti_path[512];
	char argv[4096]; /* words separated by spaces */

	_Alignas(64) _Atomic uint32_t state; /* enum etl_process_state */
	_Atomic uint32_t steps_live;
	_Atomic uint32_t layout_generation; /* counts changes of `stride` and `layouts` */
	_Atomic uint64_t sequence;
	_Atomic uint64_t last_flush_ns; /* begin of the last cuptiActivityFlushAll that has ended */
	_Atomic uint64_t last_return_ns; /* when CUPTI last returned a buffer */
	_Atomic uint64_t finished_ns;
	_Atomic uint64_t settled_ns; /* when CUPTI last had to give back all, in case this is the end */
	/* Another CUPTI client has had our records since, and until (0: still has). */
	_Atomic uint64_t taken_ns;
	_Atomic uint64_t regained_ns;
	char detail[512]; /* written before `state` */

	/* A collector that comes later lacks the strings that were published before: it
	 * counts `wanted` up, and the target says when all of them have been published anew. */
	_Alignas(64) _Atomic uint32_t strings_wanted;
	_Atomic uint32_t strings_sent;
	/* Written by the collector: how many records, stacks of calls, callbacks, nodes of graphs,
	 * rows of PC sampling and of the range profiler and events of NCCL it has read, and when it
	 * last read some. */
	_Atomic uint64_t drained, stacks_drained, callbacks_drained, graph_nodes_drained;
	_Atomic uint64_t pc_rows_drained, range_rows_drained, nccl_events_drained;
	_Atomic uint64_t drained_ns;

	uint32_t stride[ETL_MAX_KIND]; /* record size by activity kind; 0: not known */
	struct etl_layout layouts[ETL_MAX_TABLES];
	struct etl_counters counters;

	_Atomic uint32_t windows_opened;
	struct etl_window windows[ETL_WINDOWS]; /* number n lies at n % ETL_WINDOWS */

	struct etl_ring large, small, full;
};

/* Where things lie in a segment of `steps` steps. */
struct etl_geometry {
	uint64_t slots, slots_at, rings_at, data_at, bytes;
	uint64_t large_mask, small_mask, full_mask;
};

/* A mapped segment with its pointers; private to each side. */
struct etl_map {
	struct etl_segment *segment;
	struct etl_slot *slots;
	struct etl_cell *large, *small, *full;
	uint8_t *data;
	struct etl_geometry geometry;
	uint32_t steps;
};

static inline bool etl_slot_is_large(uint64_t slot)
{
	return slot % ETL_SLOTS_PER_STEP < ETL_LARGE_PER_STEP;
}

static inline uint64_t etl_slot_bytes(uint64_t slot)
{
	return etl_slot_is_large(slot) ? ETL_LARGE_BYTES : ETL_SMALL_BYTES;
}

static inline uint64_t etl_slot_offset(uint64_t slot)
{
	uint64_t step = slot / ETL_SLOTS_PER_STEP, i = slot % ETL_SLOTS_PER_STEP;
	uint64_t inside = i < ETL_LARGE_PER_STEP ?
				  i * ETL_LARGE_BYTES :
				  ETL_LARGE_PER_STEP * ETL_LARGE_BYTES +
					  (i - ETL_LARGE_PER_STEP) * ETL_SMALL_BYTES;

	return step * ETL_STEP_BYTES + inside;
}

static inline uint8_t *etl_slot_data(const struct etl_map *map, uint64_t slot)
{
	return map->data + etl_slot_offset(slot);
}

/* Fills `out`; -EINVAL unless 1 <= steps <= ETL_MAX_STEPS. */
ETL_MUST_CHECK int etl_geometry(uint32_t steps, struct etl_geometry *out);

/* Target: makes the memfd (close-on-exec, sealed), maps it and initialises the
 * header and one step.  The caller owns `*fd` and the map. */
ETL_MUST_CHECK int etl_segment_create(uint32_t steps, struct etl_map *map, int *fd,
				      struct etl_error *error);

/* Collector: maps a segment that another process made, after checking that it cannot
 * shrink, that its size is the one its step count asks for, and that it was built
 * from the same schema.  Does not keep `fd`. */
ETL_MUST_CHECK int etl_segment_map(int fd, struct etl_map *map, struct etl_error *error);

void etl_segment_unmap(struct etl_map *map);

/* Target: the same memory for another collector, as if it were new, but for the slots that
 * CUPTI still holds.  Neither side uses it meanwhile. */
void etl_segment_renew(struct etl_map *map);

/* Makes one more step usable; false at the limit. */
bool etl_segment_grow(struct etl_map *map);

/* Notes the record size of an activity kind, and where in it the columns of its table
 * lie: those that the record is long enough for and the CUPTI version knows. */
void etl_segment_set_stride(struct etl_segment *segment, uint32_t activity, uint32_t stride);
/* The same for records that hold only chosen fields. */
void etl_segment_set_fields(struct etl_segment *segment, uint32_t activity, uint32_t stride,
			    const struct etl_field *fields, size_t n);

/* Takes a free slot of the wanted size: FREE → HELD.  -1 if there is none. */
int64_t etl_slot_take(struct etl_map *map, bool large);
/* One of the wanted size if there is one, or can be made; else one of the other. */
int64_t etl_slot_take_any(struct etl_map *map, bool large);

/* HELD or DRAINING → FREE.  The caller has zeroed the slot's bytes. */
void etl_slot_free(struct etl_map *map, uint64_t slot, uint64_t from_state);

/* HELD → FULL. */
void etl_slot_publish(struct etl_map *map, uint64_t slot, uint32_t content, uint32_t bytes);

/* FULL → DRAINING, in order of publication.  -1 if there is none. */
int64_t etl_slot_next(struct etl_map *map);

/* A process and the tables that its records go to. */
#pragma once

#include "arrow/builder.h"
#include "decode/stack_codes.h"
#include "decode/text.h"
#include "etl/segment.h"
#include "etl/strings.h"

struct etl_decoder {
	uint64_t processes; /* that it has ever had */
	struct builder builders[ETL_N_TABLES];
	struct ids cubin_pieces; /* that have rows with bytes: their cubin's CRC, and where they begin */
};

struct gather;
typedef uint64_t gather_fn(const struct gather *g, void *values);

/* How a column of a table is read from the records of a process. */
struct step {
	gather_fn *gather;
	uint16_t offset;
	uint16_t only_at; /* see etl_layout */
	uint8_t each; /* column_value_bytes() */
	bool is_absent; /* these records do not have it */
	bool is_text;
	bool is_kernel_name;
	bool is_end; /* of what begins at the column before it */
};

/* What is done with a record of an activity kind. */
struct route {
	uint32_t stride; /* 0: it cannot be read */
	int8_t table; /* -1: it has none */
	bool is_api, is_kernel;
};

struct etl_process {
	struct etl_decoder *decoder;
	uint64_t serial; /* from 1 */
	struct etl_map map; /* of a live process */
	struct etl_segment *header; /* the mapped header, or a private copy */
	bool is_loaded; /* the header is a private copy, there are no slots */
	int lock; /* descriptor that holds the collector's lock, or -1 */
	bool has_image_lock; /* the image's end can be told by its lock */
	/* What it said of itself, once `is_loaded`; before, only what an earlier collector left. */
	struct etl_process_info info;
	/* Drained by that one. */
	uint64_t drained_before, stacks_before, callbacks_before, graph_nodes_before;
	uint64_t pc_rows_before, range_rows_before, nccl_events_before;
	uint64_t process_id;
	/* Private copies: the originals can change under us. */
	uint32_t generation;
	struct route routes[ETL_MAX_KIND];
	struct step steps[ETL_N_KINDS][ETL_MAX_COLUMNS];
	uint32_t cbid_at; /* in the record of an API call */
	uint32_t kernel_name_at; /* in that of a kernel; 0: it has no key of a name */
	uint64_t own_kernel; /* key of the name of CUPTI's own kernel */
	struct text_table texts;
	struct text_table api_texts; /* names of functions, which last */
	struct stack_codes codes;
	struct dictionary names; /* of kernels that are new, until they are taken */
	uint64_t cut[ETL_N_KINDS]; /* rows that lack a text because `texts` was full */
	uint32_t api_text[2][ETL_MAX_CBID]; /* driver, runtime; text number + 1 */
	uint8_t api_drop[2][ETL_MAX_CBID];
	uint64_t last_correlation;
	struct etl_decoded decoded;
	uint64_t unknown[ETL_MAX_KIND];
	uint64_t stored[ETL_N_KINDS];
	uint64_t nulls[ETL_N_KINDS][ETL_MAX_COLUMNS];
	/* Times before this were taken from another clock than ours; rows with such a time,
	 * and those of the block in hand. */
	int64_t earliest_ns;
	uint64_t other_clock_rows[ETL_N_KINDS];
	uint64_t other_clock;
	uint64_t early_ends[ETL_N_KINDS]; /* rows that were to end before they began */
	/* The slot in hand: how far it was fetched, how far it may be. */
	const uint8_t *slot, *fetched, *fetch_end;
	/* Its records, by table, waiting for a full block. */
	_Alignas(64) uint32_t waiting[ETL_N_KINDS][BLOCK];
	unsigned n_waiting[ETL_N_KINDS];
	bool lacks_memory; /* a text of the block in hand found no room */
};

/* What the parts of the collector library share. */
#ifndef ETL_DECODE_H
#define ETL_DECODE_H

#include <string.h>
#include <time.h>

#include "arrow/arrow.h"
#include "etl/abi.h"
#include "etl/segment.h"
#include "etl/strings.h"

/* ---- text.c: the strings of a process that its records may use, once, as they came */

struct text_table {
	char *bytes;
	size_t bytes_used, bytes_size;
	size_t *starts; /* starts[i]..starts[i + 1] is text i */
	uint32_t count, capacity;
	uint64_t *ids; /* open addressing, by content key */
	uint32_t *indexes; /* with the bit of text_mark() */
	size_t mask;
	bool is_full; /* a text was not taken for that reason */
};

#define NO_TEXT UINT32_MAX
/* Of a process that never says that strings are done with (see ETL_STRINGS_FORGET), as the
 * injected library does long before that. */
#define MOST_TEXTS (UINT32_C(1) << 20)
#define MOST_TEXT_BYTES ((size_t)64 << 20)

/* The text's number, adding it if it is new; NO_TEXT if there is no memory, or if the table
 * is full. */
uint32_t text_add(struct text_table *texts, const char *bytes, size_t length);
uint32_t text_find(const struct text_table *texts, uint64_t id);
/* Whether a text, which is there, is marked for the first time. */
bool text_mark(struct text_table *texts, uint64_t id);
void text_free(struct text_table *texts);

/* ---- decode.c and collector.c */

struct etl_decoder {
	uint64_t processes; /* that it has ever had */
	struct builder builders[ETL_N_KINDS];
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
};

/* What is done with a record of an activity kind. */
struct route {
	uint32_t stride; /* 0: it cannot be read */
	int8_t table; /* -1: it has none */
	bool is_api;
};

struct etl_process {
	struct etl_decoder *decoder;
	uint64_t serial; /* from 1 */
	struct etl_map map; /* of a live process */
	struct etl_segment *header; /* the mapped header, or a private copy */
	bool is_loaded; /* the header is a private copy, there are no slots */
	int lock; /* descriptor that holds the collector's lock, or -1 */
	bool has_image_lock; /* the image's end can be told by its lock */
	/* Of a process that an earlier collector had. */
	uint64_t drained_before;
	int64_t orphaned_ns, adopted_ns;
	int64_t first_held_ns;
	uint64_t process_id;
	/* Private copies: the originals can change under us. */
	uint32_t generation;
	struct route routes[ETL_MAX_KIND];
	struct step steps[ETL_N_KINDS][ETL_MAX_COLUMNS];
	uint32_t cbid_at; /* in the record of an API call */
	struct text_table texts;
	struct text_table api_texts; /* names of functions, which last */
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
	/* The slot in hand: how far it was fetched, how far it may be. */
	const uint8_t *slot, *fetched, *fetch_end;
	/* Its records, by table, waiting for a full block. */
	_Alignas(64) uint32_t waiting[ETL_N_KINDS][BLOCK];
	unsigned n_waiting[ETL_N_KINDS];
	bool lacks_memory; /* a text of the block in hand found no room */
};

/* ---- gather.c: one column of up to 64 records */

struct gather {
	struct etl_process *process;
	int table;
	struct dictionary *dictionary; /* of the column */
	const struct etl_column *column;
	/* Record i begins at base + at[i], and all of it is there.  BLOCK of them; the last of
	 * the `n` is repeated. */
	const uint8_t *base;
	const uint32_t *at;
	unsigned n;
	uint16_t offset;
	uint16_t only_at;
	bool is_kernel_name;
};

/* The function for a column that is `width` bytes wide in the records, 0 if it is not in
 * them.  It writes BLOCK values, a bool's as bits of one word; bit i of its result says
 * that record i's value is known. */
gather_fn *gather_for(const struct etl_column *column, uint8_t width);
gather_fn *narrow_for(const struct etl_column *column, uint8_t width); /* any processor's */
gather_fn *wide_for(const struct etl_column *column, uint8_t width); /* wide.c; NULL: none */
gather_fn *text_for(const struct etl_column *column, uint8_t width); /* text_columns.c */
uint64_t gather_nothing(const struct gather *g, void *values);
uint64_t gather_correlation_4(const struct gather *g, void *values);

/* Bit i says that record i is one of those in which the column has a meaning. */
uint64_t applicable(const struct gather *g);

static inline uint64_t mask_of(const struct etl_column *column)
{
	return column->mask ? column->mask : ~UINT64_C(0);
}

/* The member as a number; `width` is a constant where this is inlined. */
static inline uint64_t member(const struct gather *g, unsigned i, size_t width)
{
	uint64_t value = 0;

	memcpy(&value, g->base + g->offset + g->at[i], width); /* little-endian */
	return value;
}

static inline uint32_t activity_of(const uint8_t *record)
{
	uint32_t activity;

	memcpy(&activity, record, sizeof activity);
	return activity;
}

/* 0 for the driver's functions, 1 for the runtime's, by activity kind. */
static inline int api_domain(uint32_t activity)
{
	return activity == 5;
}

/* ---- */

static inline int64_t now_ns(void) /* CLOCK_REALTIME */
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Lets another collector have the segment (claim.c). */
void process_unlock(struct etl_process *process);

/* Copies strides and layouts out of the header, keeping only what is possible. */
void process_refresh(struct etl_process *process);

/* report.c: slots that CUPTI holds, and since when the first of them. */
void process_count_held(const struct etl_process *process, uint64_t *held, int64_t *first);

#endif

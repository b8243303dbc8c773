/* What the parts of the collector library share. */
#ifndef ETL_DECODE_H
#define ETL_DECODE_H

#include <time.h>

#include "etl/abi.h"
#include "etl/segment.h"
#include "etl/strings.h"

/* ---- text.c: every string of the capture, once, as valid UTF-8 */

struct text_table {
	char *bytes;
	size_t bytes_used, bytes_size;
	size_t *starts; /* starts[i]..starts[i + 1] is text i */
	uint32_t count, capacity;
	uint64_t *ids; /* open addressing, by content key */
	uint32_t *indexes;
	size_t mask;
};

#define NO_TEXT UINT32_MAX

/* The text's number, adding it if it is new; NO_TEXT if there is no memory. */
uint32_t text_add(struct text_table *texts, const char *bytes, size_t length);
uint32_t text_find(const struct text_table *texts, uint64_t id);
void text_free(struct text_table *texts);

/* ---- pool.c: buffers of rows, kept for the next batch; `size` a multiple of 64 */

void *pool_get(size_t size);
void pool_put(const void *buffer);

/* ---- builder.c: the rows of one table */

/* A column's dictionary in this batch: only the texts that its rows use. */
struct dictionary {
	uint32_t *used; /* text of each entry */
	uint32_t n_used, used_size;
	uint64_t *entry_of; /* by text: generation << 32 | entry */
	uint32_t texts_size;
	uint32_t generation;
};

struct column_builder {
	void *values; /* int16/32/64, double, or int32 into the dictionary; bits for bool */
	uint8_t *valid; /* one bit a row */
	int64_t nulls;
	struct dictionary dictionary;
};

struct builder {
	const struct etl_kind *kind;
	struct column_builder columns[ETL_MAX_COLUMNS];
	int64_t rows, capacity;
};

/* Makes room for `more` rows; -ENOMEM. */
ETL_MUST_CHECK int builder_reserve(struct builder *builder, int64_t more);
void builder_free(struct builder *builder);
int builder_take(struct builder *builder, const struct text_table *texts, struct ArrowArray *out);
/* The entry of a text in the column's dictionary; -1 if there is no memory. */
int32_t dictionary_entry(struct dictionary *dictionary, uint32_t text);
size_t column_value_bytes(const struct etl_column *column); /* 0: bits */
bool column_is_text(const struct etl_column *column);

static inline void put_bits(uint8_t *bitmap, int64_t row, uint64_t bits, unsigned n)
{
	/* n is at most 64; the bitmap has 16 spare bytes at its end. */
	uint8_t *byte = bitmap + row / 8;
	unsigned shift = (unsigned)(row % 8);
	uint64_t low, high;

	if (n < 64)
		bits &= (UINT64_C(1) << n) - 1;
	memcpy(&low, byte, 8);
	low = (low & ((UINT64_C(1) << shift) - 1)) | bits << shift;
	memcpy(byte, &low, 8);
	if (shift) {
		high = bits >> (64 - shift);
		memcpy(byte + 8, &high, 8);
	} else {
		high = 0;
		memcpy(byte + 8, &high, 8);
	}
}

/* ---- decode.c and collector.c */

#define BLOCK 64 /* records gathered at a time: their bytes stay in the first cache */

struct etl_decoder {
	struct text_table texts;
	struct builder builders[ETL_N_KINDS];
	uint32_t label_text[ETL_N_KINDS][ETL_MAX_COLUMNS][32]; /* text of small enum values */
};

struct etl_process {
	struct etl_decoder *decoder;
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
	uint32_t stride[ETL_MAX_KIND];
	struct etl_layout layouts[ETL_N_KINDS];
	uint32_t cbid_at; /* in the record of an API call */
	uint32_t api_text[2][ETL_MAX_CBID]; /* driver, runtime; text number + 1 */
	uint8_t api_drop[2][ETL_MAX_CBID];
	uint64_t last_correlation;
	struct etl_decoded decoded;
	uint64_t unknown[ETL_MAX_KIND];
	uint64_t stored[ETL_N_KINDS];
	uint64_t nulls[ETL_N_KINDS][ETL_MAX_COLUMNS];
	/* Records of the slot in hand, by table, waiting for a full block. */
	const uint8_t *waiting[ETL_N_KINDS][BLOCK];
	unsigned n_waiting[ETL_N_KINDS];
	bool lacks_memory; /* a text of the block in hand found no room */
};

/* ---- gather.c: one column of up to 64 records */

struct gather {
	struct etl_process *process;
	struct column_builder *out;
	const struct etl_column *column;
	const uint8_t *const *records;
	unsigned n;
	uint16_t offset;
	uint16_t only_at;
	uint8_t width;
	int64_t row;
};

/* Reads the column's values.  Bit i of the result says that record i's is known, bit i of
 * `here` that the column has a meaning in that record. */
uint64_t gather(const struct gather *g, int table, uint32_t c, uint64_t *here);

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

/* Rows of one table, gathered into Arrow buffers. */
#ifndef ETL_ARROW_H
#define ETL_ARROW_H

#include <string.h>

#include "etl/abi.h"
#include "etl/segment.h"

/* ---- pool.c: buffers of rows, kept for the next batch; `size` a multiple of 64 */

void *pool_get(size_t size);
void pool_put(const void *buffer);

/* ---- builder.c: the rows of one table */

/* The dictionary's entry of a value as it lies in the record. */
struct recent {
	uint64_t key;
	int32_t entry;
	uint32_t epoch; /* of the dictionary when this was noted */
};

#define RECENT 256

/* A column's dictionary in this batch: the texts that its rows use, as Arrow wants them,
 * which is as valid UTF-8.  It has bytes of its own, as the process may be done with them before the batch is. */
struct dictionary {
	struct recent *recent; /* RECENT values met lately, by key */
	uint64_t process; /* serial number of the one that they are values of */
	uint32_t epoch; /* counted up when they are of no use any more; from 1 */
	char *bytes;
	size_t bytes_used, bytes_size;
	int32_t *offsets; /* of count + 1 */
	uint32_t count, capacity;
	uint64_t *ids; /* open addressing, by content key */
	int32_t *entries;
	size_t mask;
};

/* Why a text has no entry. */
enum { DICTIONARY_NO_MEMORY = -1, DICTIONARY_FULL = -2 };

/* While no row is null, `valid` is not written; while all are, neither is `values`. */
struct column_builder {
	void *values; /* int16/32/64, double, or int32 into the dictionary; bits for bool */
	uint64_t *valid; /* one bit a row */
	int64_t nulls;
	struct dictionary dictionary;
};

#define BLOCK 64 /* rows gathered at a time: their bytes stay in the first cache */

struct builder {
	const struct etl_kind *kind;
	struct column_builder columns[ETL_MAX_COLUMNS];
	int64_t rows, capacity;
	int64_t last_rows; /* of the batch before: this one will have about as many */
};

/* Makes room for `more` rows; -ENOMEM. */
ETL_MUST_CHECK int builder_reserve(struct builder *builder, int64_t more);
void builder_free(struct builder *builder);
int builder_take(struct builder *builder, struct ArrowArray *out);
/* An array that owns buffers out of the pool, and what its pointers lead to. */
struct ArrowArray *new_array(int64_t length, int64_t n_buffers);
void free_array(struct ArrowArray *array);
size_t column_value_bytes(const struct etl_column *column); /* 0: bits */
bool column_is_text(const struct etl_column *column);

/* Adds `n` values of up to BLOCK, of which those with a bit in `valid` are known: 64 for
 * each row bits of a bool, else of column_value_bytes().  There is room, and they do not
 * cross a multiple of BLOCK rows. */
void column_append(struct column_builder *column, size_t each, int64_t row, const void *values,
		   uint64_t valid, unsigned n);

static inline unsigned count_bits(uint64_t bits)
{
	/* Mostly none or all; without a processor's help a count is a call. */
	return bits == 0 ? 0 : bits == ~UINT64_C(0) ? 64 : (unsigned)__builtin_popcountll(bits);
}

/* ---- dictionary.c */

/* Before values of a process are looked up in `recent`; -ENOMEM. */
ETL_MUST_CHECK int dictionary_begin(struct dictionary *dictionary, uint64_t process);
/* The entry of a text with that key, which is added if it is new; see above. */
int32_t dictionary_add(struct dictionary *dictionary, uint64_t id, const char *bytes,
		       size_t length);
/* Moves the texts into an array of strings, and begins anew; NULL without memory. */
struct ArrowArray *dictionary_take(struct dictionary *dictionary);
void dictionary_free(struct dictionary *dictionary);

#endif

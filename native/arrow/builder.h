/* The rows of one table. */
#pragma once

#include <stdbool.h>

#include "arrow/dictionary.h"
#include "etl/kinds.h"

/* While no row is null, `valid` is not written; while all are, neither is `values`. */
struct column_builder {
	void *values; /* int16/32/64, double, or int32 into the dictionary; bits for bool */
	uint64_t *valid; /* one bit a row */
	int64_t nulls;
};

#define BLOCK 64 /* rows gathered at a time: their bytes stay in the first cache */

struct builder {
	const struct etl_kind *kind;
	struct column_builder columns[ETL_MAX_COLUMNS];
	/* Apart, as most columns have none, and each block passes by all columns. */
	struct dictionary dictionaries[ETL_MAX_COLUMNS];
	int64_t rows, capacity;
	int64_t last_rows; /* of the batch before: this one will have about as many */
};

/* Makes room for `more` rows; -ENOMEM. */
ETL_MUST_CHECK int builder_reserve(struct builder *builder, int64_t more);
void builder_free(struct builder *builder);
int builder_take(struct builder *builder, struct ArrowArray *out);
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

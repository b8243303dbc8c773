/* Rows of foreign files on their way into Arrow: a table whose columns are chosen at run
 * time.  What it gathers goes the same way as decoded records (arrow/builder.c). */
#pragma once

#include "arrow/builder.h"

/* A value as a file has it; the column decides what becomes of it. */
enum cell_kind {
	CELL_NULL,
	CELL_INT,
	CELL_DOUBLE,
	CELL_TEXT,
	CELL_OTHER, /* a value that is neither */
};

struct cell {
	uint8_t kind;
	union {
		int64_t integer;
		double number;
		struct {
			const char *p;
			size_t n;
		} text;
	};
};

struct rows {
	struct etl_kind kind;
	struct etl_column columns[ETL_MAX_COLUMNS];
	struct builder builder;
	struct cell cells[ETL_MAX_COLUMNS]; /* the row in hand */
	/* Rows that the builder does not have yet, which takes BLOCK at a time: values, of texts
	 * their 32-bit entries, and a bit for each that is known. */
	_Alignas(16) uint64_t values[ETL_MAX_COLUMNS][BLOCK]; /* aligned for column_append */
	uint64_t known[ETL_MAX_COLUMNS];
	uint64_t unfit[ETL_MAX_COLUMNS]; /* values that their column cannot hold */
	unsigned n_waiting;
};

/* `types` has a letter a column: i (int64), d (double), s (text); -EINVAL, -E2BIG. */
ETL_MUST_CHECK int rows_init(struct rows *rows, const char *types);
void rows_free(struct rows *rows);
/* Appends the row in hand and clears it; -ENOMEM. */
ETL_MUST_CHECK int rows_append(struct rows *rows);
/* Rows that are there. */
int64_t rows_count(const struct rows *rows);
/* Moves the gathered rows out; -ENOMEM. */
ETL_MUST_CHECK int rows_take(struct rows *rows, struct ArrowArray *out);

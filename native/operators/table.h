#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "etl/abi.h"
#include "etl/error.h"

/* Rows that an operator takes or makes. */
struct table {
	unsigned width;
	size_t n, capacity;
	size_t bytes, ready; /* of the mapping; of it that is there */
	int64_t *rows;
};

/* Room for one more row; -ENOMEM. */
ETL_MUST_CHECK int table_grow(struct table *table);
/* A row to fill, or NULL. */
static inline int64_t *table_add(struct table *table)
{
	if (table->n == table->capacity && table_grow(table))
		return NULL;
	return table->rows + table->width * table->n++;
}
/* Where rows can be filled, at most so many: at least one, or NULL. */
static inline int64_t *table_room(struct table *table, int64_t most, int64_t *room)
{
	if (table->n == table->capacity && table_grow(table))
		return NULL;
	*room = (int64_t)(table->capacity - table->n);
	if (*room > most)
		*room = most;
	return table->rows + table->width * table->n;
}
/* Adds a row of these numbers, as many as there are columns; -ENOMEM. */
#define TABLE_PUT(table, ...) table_put(table, (const int64_t[]){__VA_ARGS__})
static inline int table_put(struct table *table, const int64_t *numbers)
{
	int64_t *row = table_add(table);

	if (!row)
		return -ENOMEM;
	memcpy(row, numbers, table->width * sizeof *row);
	return 0;
}
void table_free(struct table *table);
/* Moves at most `most` rows from `from` on into Arrow; -ENOMEM. */
ETL_MUST_CHECK int table_export(const struct table *table, size_t from, size_t most,
				struct ArrowArray *out);


#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "etl/hash.h"
#include "imports/rows.h"

int rows_init(struct rows *rows, const char *types)
{
	size_t n = strlen(types);

	if (n == 0 || n > ETL_MAX_COLUMNS)
		return -E2BIG;
	memset(rows, 0, sizeof *rows);
	for (size_t i = 0; i < n; i++) {
		switch (types[i]) {
		case 'i':
			rows->columns[i].type = ETL_INT64;
			break;
		case 'd':
			rows->columns[i].type = ETL_DOUBLE;
			break;
		case 's':
			rows->columns[i].type = ETL_STRING;
			break;
		default:
			return -EINVAL;
		}
	}
	rows->kind.columns = rows->columns;
	rows->kind.n_columns = (uint32_t)n;
	rows->builder.kind = &rows->kind;
	return 0;
}

void rows_free(struct rows *rows)
{
	builder_free(&rows->builder);
}

/* A number as an int64, if it is one. */
static bool to_integer(const struct cell *cell, int64_t *out)
{
	if (cell->kind == CELL_INT) {
		*out = cell->integer;
		return true;
	}
	if (cell->kind != CELL_DOUBLE || !(cell->number < 0x1p63 && cell->number > -0x1p63))
		return false;
	*out = (int64_t)cell->number;
	return (double)*out == cell->number;
}

static bool to_double(const struct cell *cell, double *out)
{
	if (cell->kind == CELL_INT)
		*out = (double)cell->integer;
	else if (cell->kind == CELL_DOUBLE)
		*out = cell->number;
	else
		return false;
	return true;
}

/* 1 with the entry of the cell's text, 0 for none, -ENOMEM. */
static int to_entry(struct dictionary *dictionary, const struct cell *cell, int32_t *out)
{
	char digits[32];
	const char *p = digits;
	size_t n = 0;

	if (cell->kind == CELL_NULL)
		return 0;
	if (cell->kind == CELL_TEXT) {
		p = cell->text.p;
		n = cell->text.n;
	} else if (cell->kind == CELL_INT) {
		n = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)cell->integer);
	} else {
		n = (size_t)snprintf(digits, sizeof digits, "%.17g", cell->number);
	}
	*out = dictionary_add(dictionary, etl_text_key(p, n), p, n);
	return *out < 0 ? -ENOMEM : 1;
}

static int pass_on(struct rows *rows)
{
	struct builder *builder = &rows->builder;
	unsigned n = rows->n_waiting;

	if (!n)
		return 0;
	if (builder_reserve(builder, n) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows->kind.n_columns; i++) {
		column_append(&builder->columns[i], column_value_bytes(&rows->columns[i]),
			      builder->rows, rows->values[i], rows->known[i], n);
		rows->known[i] = 0;
	}
	builder->rows += n;
	rows->n_waiting = 0;
	return 0;
}

int rows_append(struct rows *rows)
{
	unsigned row = rows->n_waiting;

	for (uint32_t i = 0; i < rows->kind.n_columns; i++) {
		struct cell *cell = &rows->cells[i];
		void *values = rows->values[i];
		int known;

		if (rows->columns[i].type == ETL_INT64) {
			((int64_t *)values)[row] = 0;
			known = to_integer(cell, (int64_t *)values + row);
		} else if (rows->columns[i].type == ETL_DOUBLE) {
			((double *)values)[row] = 0;
			known = to_double(cell, (double *)values + row);
		} else {
			((int32_t *)values)[row] = 0;
			known = to_entry(&rows->builder.dictionaries[i], cell,
					 (int32_t *)values + row);
			if (known < 0)
				return -ENOMEM;
		}
		rows->known[i] |= (uint64_t)(known != 0) << row;
		rows->unfit[i] += !known && cell->kind != CELL_NULL;
		cell->kind = CELL_NULL;
	}
	return ++rows->n_waiting == BLOCK ? pass_on(rows) : 0;
}

int64_t rows_count(const struct rows *rows)
{
	return rows->builder.rows + rows->n_waiting;
}

int rows_take(struct rows *rows, struct ArrowArray *out)
{
	int rc = pass_on(rows);

	return rc < 0 ? rc : builder_take(&rows->builder, out);
}

#include <errno.h>
#include <string.h>

#include "arrow/array.h"
#include "arrow/builder.h"
#include "arrow/pool.h"

static size_t round_up(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

/* Behind each buffer, so that bits can be written as whole words. */
#define SLACK 64

/* A table's first room, and the next: most have few rows, others very many.  From its second
 * batch on, a table is given the room that the one before took. */
#define FIRST_ROWS 1024
#define SECOND_ROWS 16384

bool column_is_text(const struct etl_column *column)
{
	return column->type == ETL_STRING || column->type == ETL_ENUM ||
	       column->type == ETL_UUID || column->type == ETL_API_NAME ||
	       column->type == ETL_BINARY;
}

size_t column_value_bytes(const struct etl_column *column)
{
	switch ((enum etl_type)column->type) {
	case ETL_BOOL:
		return 0;
	case ETL_INT16:
		return 2;
	case ETL_INT32:
	case ETL_STRING:
	case ETL_ENUM:
	case ETL_UUID:
	case ETL_API_NAME:
	case ETL_BINARY:
		return 4;
	case ETL_INT64:
	case ETL_DOUBLE:
	case ETL_CORRELATION:
	case ETL_PROCESS:
	case ETL_TIMESTAMP:
		return 8;
	}
	return 8;
}

static size_t bytes_for(const struct etl_column *column, int64_t rows)
{
	size_t each = column_value_bytes(column);
	size_t bytes = each ? (size_t)rows * each : (size_t)rows / 8 + 1;

	return round_up(bytes + SLACK);
}

int builder_reserve(struct builder *builder, int64_t more)
{
	int64_t capacity = builder->capacity ? builder->capacity : FIRST_ROWS;

	if (builder->rows + more <= builder->capacity && builder->columns[0].values)
		return 0;
	/* Only powers of two, so that the pool has buffers of the size. */
	while (capacity < builder->last_rows || capacity < builder->rows + more)
		capacity = capacity < SECOND_ROWS ? SECOND_ROWS : capacity * 2;
	for (uint32_t i = 0; i < builder->kind->n_columns; i++) {
		struct column_builder *column = &builder->columns[i];
		const struct etl_column *spec = &builder->kind->columns[i];
		size_t size = bytes_for(spec, capacity);
		size_t bits = round_up((size_t)capacity / 8 + 1 + SLACK);
		void *values, *valid;

		values = pool_resize(column->values,
				column->values ? bytes_for(spec, builder->rows) - SLACK : 0, size);
		if (!values)
			return -ENOMEM;
		column->values = values;
		valid = pool_resize(column->valid, column->valid ? (size_t)builder->rows / 8 + 1 : 0,
			       bits);
		if (!valid)
			return -ENOMEM;
		column->valid = valid;
	}
	builder->capacity = capacity;
	return 0;
}

void builder_free(struct builder *builder)
{
	for (uint32_t i = 0; i < builder->kind->n_columns; i++) {
		struct column_builder *column = &builder->columns[i];

		pool_put(column->values);
		pool_put(column->valid);
		dictionary_free(&builder->dictionaries[i]);
		memset(column, 0, sizeof *column);
	}
}

/* ---- values */

typedef int64_t lanes __attribute__((vector_size(16), may_alias));

/* Copies a block, 16 bytes at a time (see gather.c), and asks for the lines that the next
 * one will fill: they are cold, and a core waits for few stores at once. */
static void copy_block(void *to, const void *from, size_t bytes)
{
	const lanes *in = from;
	lanes *out = to;

	for (size_t line = 0; line < bytes; line += 64, in += 4, out += 4) {
		__builtin_prefetch((const uint8_t *)out + bytes, 0, 2);
		for (int i = 0; i < 4; i++)
			out[i] = in[i];
	}
}

/* `n` bits at a row; they do not cross a word, and the bits behind them are zero. */
static void put_bits(uint64_t *bitmap, int64_t row, uint64_t bits)
{
	if (row % 64)
		bitmap[row / 64] |= bits << row % 64;
	else
		bitmap[row / 64] = bits;
}

/* Writes zeros for the rows so far, none of which is known. */
static void write_nulls(struct column_builder *column, size_t each, int64_t rows)
{
	size_t bits = ((size_t)rows + 63) / 64 * 8;

	memset(column->values, 0, each ? each * (size_t)rows : bits);
	memset(column->valid, 0, bits);
}

/* Writes ones for the rows so far, all of which are known. */
static void write_known(struct column_builder *column, int64_t rows)
{
	memset(column->valid, 0xff, (size_t)rows / 64 * 8);
	if (rows % 64)
		column->valid[rows / 64] = (UINT64_C(1) << rows % 64) - 1;
}

void column_append(struct column_builder *column, size_t each, int64_t row, const void *values,
		   uint64_t valid, unsigned n)
{
	const uint64_t all = n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
	uint8_t *to = (uint8_t *)column->values + each * (size_t)row;

	if (valid == 0 && column->nulls == row) {
		column->nulls += n;
		return;
	}
	if (column->nulls == row)
		write_nulls(column, each, row);
	else if (column->nulls == 0 && valid != all)
		write_known(column, row);
	if (each == 0)
		put_bits(column->values, row, *(const uint64_t *)values & all);
	else if (n == BLOCK)
		copy_block(to, values, each * BLOCK);
	else
		memcpy(to, values, each * n);
	if (column->nulls || valid != all) {
		put_bits(column->valid, row, valid);
		column->nulls += n - count_bits(valid);
	}
}

/* ---- the way out */

/* Moves a column's buffers into an array; what is moved is gone from the builder. */
static struct ArrowArray *column_array(struct builder *builder, uint32_t number)
{
	struct column_builder *column = &builder->columns[number];
	const struct etl_column *spec = &builder->kind->columns[number];
	const int64_t rows = builder->rows;
	struct ArrowArray *array = new_array(rows, 2);

	if (!array)
		return NULL;
	if (column_is_text(spec)) {
		array->dictionary = dictionary_take(&builder->dictionaries[number]);
		if (!array->dictionary) {
			free_array(array);
			return NULL;
		}
	}
	if (column->nulls == rows)
		write_nulls(column, column_value_bytes(spec), rows);
	array->null_count = column->nulls;
	array->buffers[0] = column->nulls ? column->valid : NULL;
	array->buffers[1] = column->values;
	if (!column->nulls)
		pool_put(column->valid);
	column->valid = NULL;
	column->values = NULL;
	column->nulls = 0;
	return array;
}

int builder_take(struct builder *builder, struct ArrowArray *out)
{
	uint32_t n = builder->kind->n_columns;
	struct ArrowArray *array;

	if (builder_reserve(builder, 1) < 0) /* so that an empty batch has buffers too */
		return -ENOMEM;
	array = new_batch(builder->rows, n);
	if (!array)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		array->children[i] = column_array(builder, i);
		if (!array->children[i])
			goto fail;
		array->n_children++;
	}
	give_array(array, out);
	builder->last_rows = builder->rows;
	builder->rows = builder->capacity = 0;
	return 0;
fail:
	/* Columns that were moved are lost, so the rest goes too: no half rows. */
	free_array(array);
	builder_free(builder);
	builder->rows = builder->capacity = 0;
	return -ENOMEM;
}

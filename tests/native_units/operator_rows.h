/* Gives rows to an operator, and takes its answers. */
#pragma once

#include <stdlib.h>

#include "check.h"
#include "etl/operators.h"

static void release(struct ArrowArray *array)
{
	for (int64_t c = 0; c < array->n_children; c++) {
		free((void *)array->children[c]->buffers[1]);
		free(array->children[c]->buffers);
		free(array->children[c]);
	}
	free(array->children);
	array->release = NULL;
}

static inline int add(struct etl_operator *operator, uint32_t input, const int64_t *rows, int64_t n, int64_t width)
{
	int result;
	struct ArrowArray batch = {.length = n, .n_children = width, .release = release};

	batch.children = calloc((size_t)width, sizeof *batch.children);
	for (int64_t c = 0; c < width; c++) {
		int64_t *values = malloc((size_t)(n + 1) * sizeof *values);
		struct ArrowArray *child = calloc(1, sizeof *child);

		for (int64_t i = 0; i < n; i++)
			values[i] = rows[i * width + c];
		child->n_buffers = 2;
		child->buffers = calloc(2, sizeof *child->buffers);
		child->buffers[1] = values;
		batch.children[c] = child;
	}
	result = etl_operator_add(operator, input, &batch);
	CHECK(!batch.release);
	return result;
}

static inline void give(struct etl_operator *operator, uint32_t input, const int64_t *rows, int64_t n, int64_t width)
{
	CHECK(add(operator, input, rows, n, width) == 0);
}

/* The rows to come belong after those that were given. */
static inline int slice_rows(struct etl_operator *operator)
{
	etl_operator_cut(operator);
	return etl_operator_slice(operator);
}

/* All rows of an output, taken a few at a time. */
static inline int64_t *take(struct etl_operator *operator, uint32_t output, int64_t width, int64_t *n)
{
	int64_t *rows = malloc(sizeof *rows), got;
	struct ArrowArray batch;

	for (*n = 0; (got = etl_operator_take(operator, output, 3, &batch)) > 0; *n += got) {
		CHECK(batch.n_children == width);
		rows = realloc(rows, (size_t)((*n + got) * width) * sizeof *rows);
		for (int64_t i = 0; i < got * width; i++)
			rows[*n * width + i] =
				((const int64_t *)batch.children[i % width]->buffers[1])[i / width];
		batch.release(&batch);
	}
	CHECK(got == 0);
	batch.release(&batch);
	return rows;
}

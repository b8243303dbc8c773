#include <stdlib.h>

#include "arrow/array.h"
#include "arrow/pool.h"

static void release_array(struct ArrowArray *array)
{
	for (int64_t i = 0; i < array->n_buffers; i++)
		pool_put(array->buffers[i]);
	for (int64_t i = 0; i < array->n_children; i++) {
		struct ArrowArray *child = array->children[i];

		if (child && child->release)
			child->release(child);
		free(child);
	}
	if (array->dictionary) {
		if (array->dictionary->release)
			array->dictionary->release(array->dictionary);
		free(array->dictionary);
	}
	free(array->children);
	free(array->buffers);
	array->release = NULL;
}

struct ArrowArray *new_array(int64_t length, int64_t n_buffers)
{
	struct ArrowArray *array = calloc(1, sizeof *array);

	if (!array)
		return NULL;
	array->buffers = calloc((size_t)n_buffers, sizeof *array->buffers);
	array->length = length;
	array->n_buffers = n_buffers;
	array->release = release_array;
	if (array->buffers)
		return array;
	free(array);
	return NULL;
}

struct ArrowArray *new_batch(int64_t length, int64_t n_columns)
{
	struct ArrowArray *array = new_array(length, 1);

	if (!array)
		return NULL;
	array->children = calloc((size_t)n_columns, sizeof(struct ArrowArray *));
	if (array->children)
		return array;
	free_array(array);
	return NULL;
}

void free_array(struct ArrowArray *array)
{
	release_array(array);
	free(array);
}

void give_array(struct ArrowArray *array, struct ArrowArray *out)
{
	*out = *array;
	free(array);
}

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "operators/operator.h"

#define FIRST_BYTES ((size_t)64 << 10)
#define READY_BYTES ((size_t)4 << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int grow(void **items, size_t n, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *larger;

	if (n < *capacity)
		return 0;
	larger = realloc(*items, wanted * size);
	if (!larger)
		return -ENOMEM;
	*items = larger;
	*capacity = wanted;
	return 0;
}

int series_push(struct series *series, int64_t value)
{
	if (value >= 0 && value <= UINT32_MAX) {
		if (GROW(series->small, series->n_small, series->small_capacity))
			return -ENOMEM;
		series->small[series->n_small++] = (uint32_t)value;
	} else {
		if (GROW(series->odd, series->n_odd, series->odd_capacity))
			return -ENOMEM;
		series->odd[series->n_odd++] = value;
	}
	return 0;
}

void series_free(struct series *series)
{
	free(series->small);
	free(series->odd);
}

/* Puts the k-th smallest of values[from, to) at its place, the smaller ones before it. */
static void select_kth(int64_t *values, size_t from, size_t to, size_t k)
{
	while (to - from > 1) {
		int64_t a = values[from], b = values[from + (to - from) / 2], c = values[to - 1];
		int64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
		size_t less = from, at = from, more = to;

		while (at < more) {
			int64_t value = values[at];

			if (value < pivot) {
				values[at++] = values[less];
				values[less++] = value;
			} else if (value > pivot) {
				values[at] = values[--more];
				values[more] = value;
			} else {
				at++;
			}
		}
		if (k < less)
			to = less;
		else if (k >= more)
			from = more;
		else
			return;
	}
}

int series_quantiles(const struct series *series, const double *at, unsigned n, double *out)
{
	size_t count = series_count(series), from = 0;
	int64_t *values = malloc((count + 1) * sizeof *values);

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < series->n_small; i++)
		values[i] = series->small[i];
	if (series->n_odd)
		memcpy(values + series->n_small, series->odd, series->n_odd * sizeof *values);
	for (unsigned i = 0; i < n; i++) {
		double place = (double)(count - 1) * at[i];
		size_t low = (size_t)place, high = low + (place > (double)low);

		select_kth(values, from, count, low);
		from = low;
		if (high > low)
			select_kth(values, low + 1, count, high);
		out[i] = (double)values[low] +
			 ((double)values[high] - (double)values[low]) * (place - (double)low);
	}
	free(values);
	return 0;
}

/* The memory that is there at once, a few MiB at a time: asking for each page by touching it takes
 * longer than filling it.  Older systems do not know the request, and it does not matter. */
static size_t populate(struct table *table)
{
	size_t more = table->bytes - table->ready;

	if (more > READY_BYTES)
		more = READY_BYTES;
	(void)madvise((uint8_t *)table->rows + table->ready, more, MADV_POPULATE_WRITE);
	return more;
}

/* A mapping of its own, which can grow without being copied. */
int table_grow(struct table *table)
{
	if (table->ready == table->bytes) {
		size_t wanted = table->bytes ? table->bytes * 2 : FIRST_BYTES;
		void *larger = table->bytes
				       ? mremap(table->rows, table->bytes, wanted, MREMAP_MAYMOVE)
				       : mmap(NULL, wanted, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (larger == MAP_FAILED)
			return -ENOMEM;
		table->rows = larger;
		table->bytes = wanted;
	}
	table->ready += populate(table);
	table->capacity = table->ready / (table->width * sizeof *table->rows);
	return 0;
}

void table_free(struct table *table)
{
	if (table->rows)
		munmap(table->rows, table->bytes);
	*table = (struct table){.width = table->width};
}

static void release_column(struct ArrowArray *array)
{
	free((void *)array->buffers[1]);
	free(array->buffers);
	array->release = NULL;
}

static void release_table(struct ArrowArray *array)
{
	for (int64_t i = 0; i < array->n_children; i++) {
		if (array->children[i]->release)
			array->children[i]->release(array->children[i]);
		free(array->children[i]);
	}
	free(array->children);
	free(array->buffers);
	array->release = NULL;
}

static struct ArrowArray *export_column(const struct table *table, size_t from, size_t n, size_t c)
{
	struct ArrowArray *array = calloc(1, sizeof *array);
	const void **buffers = calloc(2, sizeof *buffers);
	int64_t *values = malloc((n + 1) * sizeof *values);

	if (!array || !buffers || !values) {
		free(array);
		free(buffers);
		free(values);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		values[i] = table->rows[(from + i) * table->width + c];
	buffers[1] = values;
	*array = (struct ArrowArray){
		.length = (int64_t)n, .n_buffers = 2, .buffers = buffers, .release = release_column};
	return array;
}

int table_export(const struct table *table, size_t from, size_t most, struct ArrowArray *out)
{
	size_t n = table->n - from < most ? table->n - from : most;

	*out = (struct ArrowArray){.length = (int64_t)n, .n_buffers = 1, .release = release_table};
	out->buffers = calloc(1, sizeof *out->buffers);
	out->children = calloc(table->width, sizeof *out->children);
	while (out->buffers && out->children && out->n_children < table->width) {
		struct ArrowArray *column = export_column(table, from, n, (size_t)out->n_children);

		if (!column)
			break;
		out->children[out->n_children++] = column;
	}
	if (out->n_children == table->width)
		return 0;
	release_table(out);
	return -ENOMEM;
}

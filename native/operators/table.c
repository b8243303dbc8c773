#include <errno.h>
#include <sys/mman.h>

#include "arrow/array.h"
#include "arrow/pool.h"
#include "operators/table.h"

#define FIRST_BYTES ((size_t)64 << 10)
#define READY_BYTES ((size_t)4 << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

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
		/* Fewer faults; where there are none such, it does not matter. */
		(void)madvise(larger, wanted, MADV_HUGEPAGE);
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

static struct ArrowArray *export_column(const struct table *table, size_t from, size_t n, size_t c)
{
	int64_t *values = pool_get(pool_size(n * sizeof *values));
	struct ArrowArray *array = values ? new_array((int64_t)n, 2) : NULL;

	if (!array) {
		pool_put(values);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		values[i] = table->rows[(from + i) * table->width + c];
	array->buffers[1] = values;
	return array;
}

int table_export(const struct table *table, size_t from, size_t most, struct ArrowArray *out)
{
	size_t n = table->n - from < most ? table->n - from : most;
	struct ArrowArray *batch = new_batch((int64_t)n, table->width);

	while (batch && batch->n_children < table->width) {
		struct ArrowArray *column = export_column(table, from, n, (size_t)batch->n_children);

		if (!column) {
			free_array(batch);
			return -ENOMEM;
		}
		batch->children[batch->n_children++] = column;
	}
	if (!batch)
		return -ENOMEM;
	give_array(batch, out);
	return 0;
}

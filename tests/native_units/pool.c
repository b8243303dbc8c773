/* A process that answers for long asks for no more memory than its largest answers need. */
#include "check.h"
#include "operators/table.h"

#define ROWS 2000
#define SIZES 7 /* powers of two from 256 bytes to 2,000 numbers */

/* The linker gives us this call (--wrap). */
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static unsigned asked;

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	asked++;
	return __real_aligned_alloc(alignment, size);
}

int main(void)
{
	struct table table = {.width = 2};

	for (int64_t n = 0; n < ROWS; n++) {
		struct ArrowArray batch;
		const int64_t *last;

		CHECK(TABLE_PUT(&table, n, -n) == 0);
		CHECK(table_export(&table, 0, ROWS, &batch) == 0);
		CHECK(batch.length == n + 1);
		last = batch.children[1]->buffers[1];
		CHECK(last[0] == 0 && last[n] == -n);
		batch.release(&batch);
	}
	table_free(&table);
	CHECK(asked == SIZES * 2);
	return 0;
}

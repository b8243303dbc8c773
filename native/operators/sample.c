/* _kernel_sample: the durations of each kernel, counted, in parts of the run with equally many.
 *
 * Rows: start, end, a number that stands for the name and the shape. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/ids.h"
#include "operators/operator.h"

#define PARTS 32

struct kernel {
	int64_t *durations;
	size_t n, capacity;
};

struct sample {
	ITEMS(struct kernel) kernels;
};

static int sample_row(void *state, unsigned input, const int64_t *row, struct table *out)
{
	struct sample *sample = state;
	struct kernel *kernel = ITEM_OF(sample->kernels, 1, row + 2);

	(void)input;
	(void)out;
	if (!kernel || GROW(kernel->durations, kernel->n, kernel->capacity))
		return -ENOMEM;
	kernel->durations[kernel->n++] = row[1] - row[0];
	return 0;
}

/* Rows of the kernel, part and duration, and how often it came. */
static int count(const int64_t *durations, size_t n, int64_t kernel, int64_t part,
		 struct table *out)
{
	struct ids ids = {.width = 1};
	size_t first = out->n;

	for (size_t i = 0; i < n; i++) {
		int64_t number = ids_of(&ids, durations + i);
		bool is_new = number >= 0 && first + (size_t)number == out->n;
		int64_t *row = is_new ? table_add(out)
				      : out->rows + (first + (size_t)number) * out->width;

		if (number < 0 || !row) {
			ids_free(&ids);
			return -ENOMEM;
		}
		if (is_new)
			memcpy(row, (const int64_t[]){kernel, part, durations[i], 0},
			       4 * sizeof *row);
		row[3]++;
	}
	ids_free(&ids);
	return 0;
}

static int sample_finish(void *state, struct table *out)
{
	struct sample *sample = state;
	int result = 0;

	for (size_t i = 0; !result && i < sample->kernels.ids.n; i++) {
		struct kernel *kernel = &sample->kernels.all[i];
		size_t from = 0;

		for (size_t part = 0; !result && part < PARTS; part++) {
			/* The first of the next part: of i, i * PARTS / n is the part. */
			size_t to = ((part + 1) * kernel->n + PARTS - 1) / PARTS;

			result = count(kernel->durations + from, to - from,
				       *ids_key(&sample->kernels.ids, i), (int64_t)part, out);
			from = to;
		}
		free(kernel->durations);
		*kernel = (struct kernel){0};
	}
	return result;
}

static void sample_free(void *state)
{
	struct sample *sample = state;

	for (size_t i = 0; i < sample->kernels.ids.n; i++)
		free(sample->kernels.all[i].durations);
	FREE_ITEMS(sample->kernels);
}

const struct operator_kind sample_operator = {
	.name = "sample",
	.widths = {3},
	.ordered = 1,
	.keys = 2,
	.out_widths = {4},
	.state_bytes = sizeof(struct sample),
	.row = sample_row,
	.finish = sample_finish,
	.free = sample_free,
};

#include <errno.h>

#include "arrow/grow.h"
#include "arrow/heap.h"

int heap_push(struct heap *heap, int64_t end, int64_t what)
{
	size_t at = heap->n;

	if (GROW(heap->items, heap->n, heap->capacity))
		return -ENOMEM;
	heap->n++;
	while (at > 0 && heap->items[(at - 1) / 2].end > end) {
		heap->items[at] = heap->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->items[at] = (struct running){end, what};
	return 0;
}

struct running heap_pop(struct heap *heap)
{
	struct running first = heap->items[0], last = heap->items[--heap->n];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
		if (child + 1 < heap->n && heap->items[child + 1].end < heap->items[child].end)
			child++;
		if (heap->items[child].end >= last.end)
			break;
		heap->items[at] = heap->items[child];
	}
	heap->items[at] = last;
	return first;
}

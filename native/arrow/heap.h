/* What is running: a heap of ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "etl/error.h"

struct running {
	int64_t end;
	int64_t what;
};

struct heap {
	struct running *items;
	size_t n, capacity;
};

ETL_MUST_CHECK int heap_push(struct heap *heap, int64_t end, int64_t what);
struct running heap_pop(struct heap *heap);

/* A range that is open, and its memory, by the length of its name.  One caller at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct etl_open_range {
	struct etl_open_range *next, *previous; /* the one that was opened before, and after */
	const void *owner; /* NULL: it is gone, or a step */
	uint64_t order; /* in which they were opened */
	uint32_t capture; /* number of the one that has its start; 0: none */
	int32_t marker_id;
	uint32_t thread_id;
	bool is_step;
	uint16_t name_length;
	char name[]; /* again at each piece */
};

/* NULL: there is no memory. */
struct etl_open_range *etl_range_allocate(size_t name_length);
/* For the next. */
void etl_range_free(struct etl_open_range *range);

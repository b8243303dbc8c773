#pragma once

#include "etl/abi.h"

/* An array that owns buffers out of the pool, and what its pointers lead to; NULL without memory. */
struct ArrowArray *new_array(int64_t length, int64_t n_buffers);
/* A record batch with room for so many columns, which are to be added. */
struct ArrowArray *new_batch(int64_t length, int64_t n_columns);
void free_array(struct ArrowArray *array);
/* Moves it to where the other side of the interface wants it. */
void give_array(struct ArrowArray *array, struct ArrowArray *out);

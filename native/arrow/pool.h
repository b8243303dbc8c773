#pragma once

#include <stddef.h>

/* Buffers of rows, kept for the next batch; `size` a multiple of 64. */
void *pool_get(size_t size);
void pool_put(const void *buffer);
/* Another buffer with the first `used` bytes, in the place of one that may be none; NULL leaves it. */
void *pool_resize(void *old, size_t used, size_t size);

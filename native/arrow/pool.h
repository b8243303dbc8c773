#pragma once

#include <stddef.h>

/* Buffers of rows, kept for the next batch; `size` a multiple of 64.  Few sizes are to be asked for,
 * as a buffer is kept for who asks for just its size. */
void *pool_get(size_t size);
void pool_put(const void *buffer);
/* Another buffer with the first `used` bytes, in the place of one that may be none; NULL leaves it. */
void *pool_resize(void *old, size_t used, size_t size);
/* At least so many bytes, as a power of two: of sizes that are any, these are few. */
size_t pool_size(size_t least);

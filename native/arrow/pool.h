#pragma once

#include <stddef.h>

/* Buffers of rows, kept for the next batch; `size` a multiple of 64. */
void *pool_get(size_t size);
void pool_put(const void *buffer);

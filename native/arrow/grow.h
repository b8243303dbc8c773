/* Arrays that grow. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include "etl/error.h"

/* Room for one more of n; -ENOMEM. */
ETL_MUST_CHECK static inline int grow(void **items, size_t n, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 16;
	void *larger;

	if (n < *capacity)
		return 0;
	larger = realloc(*items, wanted * size);
	if (!larger)
		return -ENOMEM;
	*items = larger;
	*capacity = wanted;
	return 0;
}

#define GROW(items, n, capacity) grow((void **)&(items), n, &(capacity), sizeof *(items))

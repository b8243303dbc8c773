/* A set of correlation ids. */
#pragma once

#include <stdbool.h>
#include "operators/pages.h"

struct bits {
	PAGES(uint64_t, 32) words; /* by process and the upper bits of an id */
	size_t n_set;
};

/* 1 if the id of the process was there, 0 if it is new; -ENOMEM; -E2BIG where the ids are so far
 * apart that they need another method. */
ETL_MUST_CHECK int bits_set(struct bits *bits, int64_t process, int64_t id);
bool bits_get(struct bits *bits, int64_t process, int64_t id);
void bits_free(struct bits *bits);

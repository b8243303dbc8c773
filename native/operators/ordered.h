/* Rows in order. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "etl/error.h"

/* Sorts rows by their first two integers (one, if they have no more), in time that is linear
 * where they are sorted already but for a few runs. -ENOMEM. */
ETL_MUST_CHECK int sort_rows(int64_t *rows, size_t n, unsigned width);

typedef int row_reader(void *data, const int64_t *row);
/* Reads the rows in that order; it may sort them.  What the reader returns, if it is not 0. */
ETL_MUST_CHECK int read_in_order(int64_t *rows, size_t n, unsigned width, row_reader *read,
				 void *data);

/* Rows in order. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "etl/error.h"

/* -ENOMEM. */
ETL_MUST_CHECK int sort_numbers(int64_t *numbers, size_t n);

typedef int row_reader(void *data, const int64_t *row);
/* Reads rows by their first integers, so many; some may be moved.  What the reader returns, if it is
 * not 0. */
ETL_MUST_CHECK int read_in_order(int64_t *rows, size_t n, unsigned width, unsigned keys, row_reader *read,
				 void *data);

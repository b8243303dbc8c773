/* Rows that are made one at a time, of what is no record of CUPTI's. */
#pragma once

#include "decode/process.h"

/* A value each for the columns in their order, and whether it is known. */
struct value {
	int64_t number;
	bool is_known;
};

#define KNOWN(n) ((struct value){ (int64_t)(n), true })

static inline struct value known_if(bool is_known, uint64_t number)
{
	return (struct value){ (int64_t)number, is_known };
}

/* Has a row made of each entry of a slot, all of which have one size, and counts the bytes behind
 * them; -ENOMEM. */
ETL_MUST_CHECK int decode_entries(struct etl_process *process, const uint8_t *data, uint32_t bytes,
				  size_t size,
				  int (*add)(struct etl_process *process, const void *entry));
/* Adds a row to a table, and then one to what counts such rows, unless that is NULL; -ENOMEM. */
ETL_MUST_CHECK int row_add(struct etl_process *process, int table, const struct value *values,
			   uint64_t *count);
/* A text's entry of a column; NULL where it finds no room. */
struct value row_text(struct etl_process *process, int table, uint32_t column, const char *text,
		      size_t length);
/* The same of the mangled name of a kernel, which is demangled elsewhere. */
struct value row_kernel(struct etl_process *process, int table, uint32_t column, const char *name,
			size_t length);
/* The same of a word of ours. */
struct value row_word(struct etl_process *process, int table, uint32_t column, const char *word);
/* The same for a column of any bytes. */
struct value row_bytes(struct etl_process *process, int table, uint32_t column, const void *bytes,
		       size_t length);

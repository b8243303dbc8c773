/* The texts of a column, or of a process, as Arrow wants them. */
#pragma once

#include "arrow/ids.h"
#include "etl/abi.h"

/* The dictionary's entry of a value as it lies in the record. */
struct recent {
	uint64_t key;
	int32_t entry;
	uint32_t epoch; /* of the dictionary when this was noted */
};

/* Several times as many as a program has kernels: two that share a place are looked up each time. */
#define RECENT 1024

/* A column's dictionary in this batch: the texts that its rows use, as Arrow wants them,
 * which is as valid UTF-8.  It has bytes of its own, as the process may be done with them before the batch is. */
struct dictionary {
	struct recent *recent; /* RECENT values met lately, by key */
	uint64_t process; /* serial number of the one that they are values of */
	uint32_t epoch; /* counted up when they are of no use any more; from 1 */
	char *bytes;
	size_t bytes_used, bytes_size;
	int32_t *offsets; /* one more than entries */
	size_t capacity; /* of these */
	struct ids ids; /* entries, by content key */
};

/* Why a text has no entry. */
enum { DICTIONARY_NO_MEMORY = -1, DICTIONARY_FULL = -2 };

/* Before values of a process are looked up in `recent`; -ENOMEM. */
ETL_MUST_CHECK int dictionary_begin(struct dictionary *dictionary, uint64_t process);
/* The entry of a text with that key, which is added if it is new; see above. */
int32_t dictionary_add(struct dictionary *dictionary, uint64_t id, const char *text, size_t length);
/* The same for any bytes, which stay as they are. */
int32_t dictionary_add_bytes(struct dictionary *dictionary, uint64_t id, const void *bytes,
			     size_t length);
/* Moves the texts into an array of strings, and begins anew; NULL without memory. */
struct ArrowArray *dictionary_take(struct dictionary *dictionary);
void dictionary_free(struct dictionary *dictionary);

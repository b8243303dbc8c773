/* Which members of an event go to which column. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "etl/error.h"

#define N_KEYS 512 /* a power of two, far above twice ETL_MAX_COLUMNS */

enum form {
	FORM_INT,
	FORM_DOUBLE,
	FORM_MICROSECONDS, /* stored as nanoseconds */
	FORM_TEXT, /* of a value that is no string, its JSON */
	FORM_ARRAY, /* of numbers: the first goes here, the others to the columns behind */
	FORM_REST, /* members of "args" without a column, as JSON */
	FORM_DROP,
};

struct key {
	uint64_t hash; /* 0: free */
	int16_t column;
	uint8_t form;
};

struct keys {
	struct key table[N_KEYS];
	int rest_column; /* -1: none */
};

/* The hash of a member of the event (level 0) or of its arguments (1). */
uint64_t key_hash(const char *p, size_t n, int level);
/* The key, or the free place where it would be. */
struct key *keys_find(struct keys *keys, uint64_t hash);
/* Reads a list of columns (see etl_events_new) into `keys`, which is all zeros, and `types`,
 * as rows_init takes them, with room for ETL_MAX_COLUMNS and a zero; -EINVAL. */
ETL_MUST_CHECK int keys_read(struct keys *keys, const char *columns, char *types);

/* Steps of the query library that SQL does badly: operators over intervals in the order of time,
 * and what follows from them.
 *
 * An operator takes rows of 64-bit integers, from one to three inputs, and makes rows of 64-bit
 * numbers.  What it answers is what the query of the same purpose in cupti_etl/queries/library
 * says in SQL, which stays the definition. */
#ifndef ETL_OPERATOR_H
#define ETL_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etl/operators.h"
#include "etl/error.h"

#define MAX_WIDTH 14
#define MAX_INPUTS 3
#define UNKNOWN INT64_MIN /* a value that is NULL in SQL */

/* ---- arrays that grow (grown.c) */

/* Room for one more of n; -ENOMEM. */
ETL_MUST_CHECK int grow(void **items, size_t n, size_t *capacity, size_t size);
#define GROW(items, n, capacity) grow((void **)&(items), n, &(capacity), sizeof *(items))

/* Durations and other numbers of which most fit in 32 bits. */
struct series {
	uint32_t *small;
	int64_t *odd; /* those that do not fit */
	size_t n_small, n_odd, small_capacity, odd_capacity;
};

ETL_MUST_CHECK int series_push(struct series *series, int64_t value);
void series_free(struct series *series);
static inline size_t series_count(const struct series *series)
{
	return series->n_small + series->n_odd;
}
/* The quantiles at `at`, which rises, as quantile_cont gives them; -ENOMEM. */
ETL_MUST_CHECK int series_quantiles(const struct series *series, const double *at, unsigned n,
				    double *out);

/* Rows that an operator takes or makes. */
struct table {
	unsigned width;
	size_t n, capacity;
	size_t bytes, ready; /* of the mapping; of it that is there */
	int64_t *rows;
};

/* Room for one more row; -ENOMEM. */
ETL_MUST_CHECK int table_grow(struct table *table);
/* A row to fill, or NULL. */
static inline int64_t *table_add(struct table *table)
{
	if (table->n == table->capacity && table_grow(table))
		return NULL;
	return table->rows + table->width * table->n++;
}
void table_free(struct table *table);
/* Moves at most `most` rows from `from` on into Arrow; -ENOMEM. */
ETL_MUST_CHECK int table_export(const struct table *table, size_t from, size_t most,
				struct ArrowArray *out);

static inline int64_t bits_of(double value)
{
	union {
		double number;
		int64_t bits;
	} both = {.number = value};

	return both.bits;
}

/* ---- a number for each key (ids.c) */

struct ids {
	unsigned width; /* integers in a key; set before the first use */
	size_t n, capacity, n_slots;
	int64_t *keys;
	uint32_t *slots;      /* number + 1; 0: free */
	uint32_t recent[16]; /* the same, of keys that came lately, at a place that is cheap to find */
};

/* The number of the key, counted from 0 in the order of their coming; -ENOMEM. */
ETL_MUST_CHECK int64_t ids_of(struct ids *ids, const int64_t *key);
/* The number, or -1 if the key never came. */
int64_t ids_find(struct ids *ids, const int64_t *key);
static inline const int64_t *ids_key(const struct ids *ids, size_t number)
{
	return ids->keys + number * ids->width;
}
void ids_free(struct ids *ids);

/* The number of the key's item of n; that of a new key is zeros.  -ENOMEM. */
ETL_MUST_CHECK int64_t item_of(struct ids *ids, const int64_t *key, void **items, size_t *n,
			       size_t *capacity, size_t size);
#define ITEM_OF(ids, key, items, n, capacity) \
	item_of(&(ids), key, (void **)&(items), &(n), &(capacity), sizeof *(items))

/* ---- a set of correlation ids (bits.c) */

struct bits_page;

struct bits {
	struct ids ids; /* of pages, by process and upper bits */
	struct bits_page *pages;
	size_t n_pages, capacity, n_set;
};

/* 1 if the id of the process was there, 0 if it is new; -ENOMEM; -E2BIG where the ids are so far
 * apart that they need another method. */
ETL_MUST_CHECK int bits_set(struct bits *bits, int64_t process, int64_t id);
bool bits_get(struct bits *bits, int64_t process, int64_t id);
void bits_free(struct bits *bits);

/* ---- rows in order (ordered.c) */

/* Sorts rows by their first two integers (one, if they have no more), in time that is linear
 * where they are sorted already but for a few runs. -ENOMEM. */
ETL_MUST_CHECK int sort_rows(int64_t *rows, size_t n, unsigned width);

typedef int row_reader(void *data, const int64_t *row);
/* Reads the rows in that order; it may sort them.  What the reader returns, if it is not 0. */
ETL_MUST_CHECK int read_in_order(int64_t *rows, size_t n, unsigned width, row_reader *read,
				 void *data);

/* ---- what is running (heap.c): a heap of ends */

struct running {
	int64_t end;
	int64_t what;
};

struct heap {
	struct running *items;
	size_t n, capacity;
};

ETL_MUST_CHECK int heap_push(struct heap *heap, int64_t end, int64_t what);
struct running heap_pop(struct heap *heap);

/* ---- the operators */

struct operator_kind {
	const char *name;
	unsigned n_inputs;
	unsigned widths[MAX_INPUTS];
	unsigned ordered; /* bits of the inputs whose rows are wanted in the order of time */
	unsigned n_outputs;
	unsigned out_widths[3];
	size_t state_bytes; /* all zeros at first */
	int (*row)(void *state, unsigned input, const int64_t *row, struct table *out);
	int (*finish)(void *state, struct table *out);
	void (*free)(void *state);
	/* Of an operator whose inputs are cut in slices: the slice is complete; may be NULL. */
	int (*slice)(void *state, struct table *out);
};

extern const struct operator_kind busy_operator, edge_operator, host_operator, run_operator, trend_operator;
extern const struct operator_kind depth_operator, latency_operator, shared_operator, sample_operator, range_operator,
	streams_operator, nesting_operator;

#endif

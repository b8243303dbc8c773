/* One column of up to 64 records. */
#pragma once

#include <string.h>
#include "decode/process.h"

struct gather {
	struct etl_process *process;
	int table;
	struct dictionary *dictionary; /* of the column */
	const struct etl_column *column;
	/* Record i begins at base + at[i], and all of it is there.  BLOCK of them; the last of
	 * the `n` is repeated. */
	const uint8_t *base;
	const uint32_t *at;
	unsigned n;
	uint16_t offset;
	uint16_t only_at;
	bool is_kernel_name;
};

/* The function for a column without text that is `width` bytes wide in the records, 0 if it is not in
 * them.  It writes BLOCK values, a bool's as bits of one word; bit i of its result says
 * that record i's value is known. */
gather_fn *narrow_for(const struct etl_column *column, uint8_t width);
uint64_t gather_nothing(const struct gather *g, void *values);
uint64_t gather_correlation_4(const struct gather *g, void *values);

/* Bit i says that record i is one of those in which the column has a meaning. */
uint64_t applicable(const struct gather *g);

static inline uint64_t mask_of(const struct etl_column *column)
{
	return column->mask ? column->mask : ~UINT64_C(0);
}

/* The member as a number; `width` is a constant where this is inlined. */
static inline uint64_t member(const struct gather *g, unsigned i, size_t width)
{
	uint64_t value = 0;

	memcpy(&value, g->base + g->offset + g->at[i], width); /* little-endian */
	return value;
}

static inline uint32_t activity_of(const uint8_t *record)
{
	uint32_t activity;

	memcpy(&activity, record, sizeof activity);
	return activity;
}

/* A call's id of 32 bits as the one of 64 that is nearest to `last`. */
static inline uint64_t nearest_id(uint64_t last, uint64_t id)
{
	const uint64_t wrap = UINT64_C(1) << 32;
	uint64_t wide = (last & ~(wrap - 1)) | id;

	if (wide > last && wide - last > wrap / 2 && wide >= wrap)
		return wide - wrap;
	return last > wide && last - wide > wrap / 2 ? wide + wrap : wide;
}

/* 0 for the driver's functions, 1 for the runtime's, by activity kind. */
static inline int api_domain(uint32_t activity)
{
	return activity == ETL_ACTIVITY_RUNTIME;
}

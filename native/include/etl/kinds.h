/* The tables of CUPTI records, as data.  The data itself is generated from
 * cupti_etl/schema/kinds/ into native/generated/kinds.inc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etl/abi.h"

/* How a column's bytes are read; one row a type in cupti_etl/schema/types.py. */
enum etl_type {
	ETL_INT16,
	ETL_INT32,
	ETL_INT64,
	ETL_DOUBLE,
	ETL_BOOL,
	ETL_STRING,
	ETL_ENUM,
	ETL_UUID,
	ETL_CORRELATION,
	ETL_API_NAME,
	ETL_PROCESS,
	ETL_TIMESTAMP,
	ETL_BINARY,
};

struct etl_label {
	uint32_t value;
	const char *text;
};

struct etl_column {
	const char *name;
	uint8_t type; /* enum etl_type */
	uint8_t width; /* bytes in the record; 0: not in the record */
	uint16_t offset;
	uint32_t since; /* CUPTI API version from which the member has a meaning */
	uint32_t mask; /* of the value; 0: all bits */
	uint8_t has_null;
	uint64_t null; /* value that means "not known" */
	const struct etl_label *labels;
	uint32_t n_labels;
	/* The value has a meaning only where the record's 32 bits at `only_at` are one of
	 * these; 0: everywhere. */
	uint16_t only_at;
	uint16_t n_only;
	const uint32_t *only;
	/* In user-defined records: the field (-1: none), where in it the value begins, and the
	 * field that `only` is about (-1: the value needs no condition there). */
	int16_t field;
	uint8_t field_at;
	int16_t only_field;
};

#define ETL_MAX_ACTIVITIES 4
#define ETL_MAX_COLUMNS 64
#define ETL_MAX_TABLES 64

struct etl_kind {
	const char *table;
	uint32_t activities[ETL_MAX_ACTIVITIES]; /* 0-terminated unless full */
	uint32_t serialized; /* instead of them, for one piece of work at a time; 0: none */
	const struct etl_column *columns;
	uint32_t n_columns;
	uint8_t preset; /* enum etl_preset: the smallest that includes it */
	uint8_t is_lasting; /* describes what lasts: recorded between windows too */
	int16_t first_field; /* of a user-defined record; -1: the kind cannot be had so */
};

/* From the smallest to the largest; `graph` is one for itself (see Kind.preset). */
enum etl_preset {
	ETL_PRESET_LIGHT,
	ETL_PRESET_DEFAULT,
	ETL_PRESET_FULL,
	ETL_PRESET_GRAPH,
};

#include "../../generated/fingerprint.h"
#include "../../generated/kinds.inc"

/* Whether a value of so many bytes can become the column's.  The record's own width is
 * that of CUPTI's struct; user-defined records widen some ids. */
static inline int etl_width_fits(const struct etl_column *column, uint32_t width)
{
	switch (column->type) {
	case ETL_STRING:
		return width == 8;
	case ETL_UUID:
		return width == 16;
	case ETL_CORRELATION:
		return width == 4 || width == 8;
	case ETL_DOUBLE:
	case ETL_TIMESTAMP:
		return width == 8;
	case ETL_INT16:
		return width == 1 || width == 2;
	default:
		return width == 1 || width == 2 || width == 4 || width == 8;
	}
}

static inline bool etl_is_api(uint32_t activity)
{
	return activity == ETL_ACTIVITY_DRIVER || activity == ETL_ACTIVITY_RUNTIME;
}

/* The table that an activity kind feeds, or -1. */
static inline int etl_table_of(uint32_t activity)
{
	for (int table = 0; activity && table < ETL_N_KINDS; table++) {
		if (etl_kinds[table].serialized == activity)
			return table;
		for (int i = 0; i < ETL_MAX_ACTIVITIES; i++)
			if (etl_kinds[table].activities[i] == activity)
				return table;
	}
	return -1;
}

/* Rows that the injected library writes itself, beside CUPTI's records, and counts as records.
 *
 * A slot of content ETL_RANGES holds what became of ranges of a program's own code:
 *
 *	struct etl_range_event, the name, the attributes (a JSON object), pad to 8
 *
 * A slot of content ETL_FACTS holds rows of tables of records, of which some columns are known:
 *
 *	struct etl_fact_row, then `n` times: struct etl_fact, its text, pad to 8
 */
#pragma once

#include <stdint.h>

/* Whose they are. */
enum etl_range_domain {
	ETL_OWN_RANGES, /* of the program's own code; `domain` is NULL */
	ETL_PYTORCH_OPERATOR,
	ETL_PYTORCH_BACKWARD,
	ETL_PYTORCH_ANNOTATION,
	ETL_PYTORCH_MODULE,
	ETL_RANGE_DOMAINS,
};

/* As the columns of `marker`.  A start has a name; of a range that is made of pieces each piece
 * has a start and an end, and only the first start has attributes. */
struct etl_range_event {
	int64_t timestamp_ns;
	int32_t marker_id; /* below zero: CUPTI counts upwards */
	uint32_t thread_id;
	uint32_t is_end;
	uint32_t name_bytes, attribute_bytes;
	uint32_t domain; /* enum etl_range_domain */
	int64_t payload; /* of a start, a row of `marker_data`; below zero: none */
};

/* What is longer is cut; attributes are then left out. */
#define ETL_MOST_RANGE_NAME 4096
#define ETL_MOST_RANGE_ATTRIBUTES 16384

struct etl_fact_row {
	uint32_t table; /* number in etl_kinds */
	uint32_t n;
};

struct etl_fact {
	uint32_t column; /* number in the table */
	uint32_t text_bytes; /* of a column of text; its `value` is 0 */
	int64_t value;
};

/* Where what follows so many bytes begins. */
static inline uint32_t etl_padded(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

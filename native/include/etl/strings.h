/* Strings travel in band: a slot of content ETL_STRINGS comes before the first slot
 * whose records use them.
 *
 *	┌──────┬──────┬────────┬────────┬──────────────┬─────────┐
 *	│ id 8 │ tag 4│ flags 4│ length 8│ bytes ...   │ pad to 8│  repeated
 *	└──────┴──────┴────────┴────────┴──────────────┴─────────┘
 */
#pragma once

#include <stdint.h>

enum etl_string_flags {
	ETL_STRING_TRUNCATED = 1,
	ETL_API_DROP = 2, /* calls of this function were not asked for */
	/* No record that follows uses a string that came before, names of functions apart: an
	 * entry without bytes. */
	ETL_STRINGS_FORGET = 4,
};

struct etl_string_entry {
	uint64_t id; /* etl_hash() of the bytes */
	/* 0, or for what is never forgotten: a function's activity kind and callback id, or
	 * ETL_STACK_TAG */
	uint32_t tag;
	uint32_t flags;
	uint64_t length;
};

/* All of an entry must fit into a large slot. */
#define ETL_MOST_STRING_BYTES ((UINT64_C(1) << 20) - sizeof(struct etl_string_entry) - 8)
/* Of no activity kind (see etl/stacks.h). */
#define ETL_STACK_TAG UINT32_MAX

/* Callback ids have about 1,000 values today. */
#define ETL_MAX_CBID 8192
/* Stands in the record of the injector's own probing call (see inject/takeover_probe.c), which
 * the decoder passes over. */
#define ETL_PROBE_CBID (ETL_MAX_CBID - 1)

static inline uint32_t etl_api_tag(uint32_t activity, uint32_t cbid)
{
	return (activity << 16) | cbid;
}

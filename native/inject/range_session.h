/* The range profiler on one context: a launch, or a range of the program, at a time is measured. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "etl/abi.h"
#include "inject/range_host.h"

/* What is asked for. */
struct etl_range_asked {
	bool is_wanted, has_filter;
	bool is_by_range; /* not by launch */
	uint32_t run; /* of the command, from 1, each for one list of metrics; 0: there is only one */
	int64_t refusal; /* what was asked for cannot be: -errno */
	int cache_control; /* RANGE_CACHE_* */
	uint32_t limit; /* launches of a kernel with a shape; 0: all */
	char metrics[ETL_MOST_RANGE_METRICS * 64];
	char filter[1024]; /* an extended regular expression */
};

extern struct etl_range_asked etl_range_asked;

struct etl_range_session {
	_Atomic uint64_t state; /* enum etl_context_state */
	void *context;
	uint32_t context_id;
	int32_t device_id;
	void *object; /* CUPTI's */
	struct etl_range_config config;
	uint8_t *image; /* counter data */
	size_t image_bytes;
	/* What is counted by turns, as lists of names; of launches, one. */
	char *lists[ETL_MOST_RANGE_GROUPS];
	uint32_t n_lists, turn;
	/* What is in none of them. */
	struct etl_range_metric lacking[ETL_MOST_RANGE_METRICS];
	uint32_t n_lacking;
	/* Launches in the range, added by whichever thread launches. */
	_Atomic uint64_t launches, launch_hash;
	int64_t start_ns;
	bool is_running;
};

/* These give 0, CUPTI's result, or -errno. */
int64_t etl_range_session_begin(struct etl_range_session *session, void *context);
/* `name`: of a range of the program's; NULL: a launch. */
int64_t etl_range_session_start(struct etl_range_session *session, const char *name);
/* After the launch, or where the range ends; `is_launched`: the call succeeded.  Writes the rows, or counts the range as
 * dropped. */
int64_t etl_range_session_stop(struct etl_range_session *session, uint32_t correlation_id,
			       const char *name, bool is_launched);
/* A launch in the range that is measured, by its name and shape; any thread's. */
void etl_range_session_launched(struct etl_range_session *session, uint64_t launch);
void etl_range_session_end(struct etl_range_session *session);
/* After a fork: there are none. */
void etl_range_sessions_forget(void);

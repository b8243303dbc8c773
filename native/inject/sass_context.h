/* SASS metrics of one context: what is asked of CUPTI for it, and what it answers. */
#pragma once

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#define ETL_MOST_SASS_METRICS 64

/* What is asked for. */
struct etl_sass_asked {
	bool is_wanted, has_filter;
	regex_t filter; /* of the mangled names of functions */
	char names[8192]; /* with a zero byte behind each */
	const char *metrics[ETL_MOST_SASS_METRICS];
	uint32_t count;
	int64_t refusal; /* -errno: what is asked for cannot be */
};

extern struct etl_sass_asked etl_sass_asked;

struct etl_pc_rows;

struct etl_sass_context {
	_Atomic uint64_t state; /* enum etl_context_state */
	void *context;
	uint32_t id;
	uint32_t device;
	int64_t since_ns; /* when the last counts were taken */
	uint64_t ids[ETL_MOST_SASS_METRICS]; /* CUPTI's, of the metrics */
	struct etl_pc_rows *rows;
};

/* Notes why instructions are not counted: CUPTI's result, or -errno.  The first reason stays. */
void etl_sass_fail(int64_t code);
/* With the context in hand, as for all that follows.  0, CUPTI's result or -errno. */
int64_t etl_sass_context_begin(struct etl_sass_context *counted);
/* Takes what was counted, and lets go of it; not inside of a callback. */
void etl_sass_context_end(struct etl_sass_context *counted);
/* Lets go of one that is gone. */
void etl_sass_context_leave(const struct etl_sass_context *counted);
void etl_sass_contexts_forget(void);

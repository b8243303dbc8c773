/* PC sampling of one context: what is asked of CUPTI for it, and what it answers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is asked for. */
struct etl_pc_asked {
	bool is_wanted, is_serialized, has_cubins;
	/* Sampling begins, and with a duty cycle is switched, inside the program's launches, and
	 * not when a context is made. */
	bool is_by_launch;
	uint32_t period; /* CUPTI's: 2 to the power of this, in cycles; 0: its default */
	int64_t on_ns, cycle_ns; /* 0: always */
};

extern struct etl_pc_asked etl_pc_asked;

struct pc_data;
struct etl_pc_rows;

struct etl_pc_context {
	_Atomic uint64_t state; /* enum etl_context_state */
	void *context;
	uint32_t id;
	int32_t device;
	bool is_running;
	int64_t since_ns; /* when the last collection ended */
	int64_t until_ns; /* when sampling was switched off */
	int64_t owed; /* samples that CUPTI told of and has not given */
	size_t n_reasons; /* places in the records for them */
	char (*reasons)[128]; /* by their indices; then room for CUPTI's list */
	/* Of a reason that counts samples of another one in which nothing was issued: that one, + 1;
	 * else 0. */
	uint16_t not_issued_of[256];
	struct pc_data *data, *left; /* for collections; what CUPTI leaves there at the end */
	struct etl_pc_rows *rows;
};

/* Notes why PCs are not sampled: CUPTI's result, or -errno. */
void etl_pc_fail(int64_t code);
/* With the context in hand, as for all that follows.  0, CUPTI's result or -errno. */
int64_t etl_pc_context_begin(struct etl_pc_context *sampled);
/* CUPTI waits, in Start and Stop, for launches of other threads, which wait for CUPTI: they are
 * for a thread that is in a launch's callback. */
void etl_pc_context_switch(struct etl_pc_context *sampled, bool on);
/* Takes what CUPTI has gathered. */
void etl_pc_context_collect(struct etl_pc_context *sampled);
/* Takes the rest, too, and lets go of it. */
void etl_pc_context_end(struct etl_pc_context *sampled);

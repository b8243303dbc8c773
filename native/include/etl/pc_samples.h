/* PC sampling, in band: a slot of content ETL_PC_SAMPLES is a row of entries, each a multiple of 8
 * bytes long:
 *
 *	struct etl_pc_text    a text that entries behind it refer to
 *	struct etl_pc_window  what one collection came to: a row of pc_window
 *	struct etl_pc_sample  samples of a PC with one reason: a row of pc_sample
 *	struct etl_sass_count what an instruction counted with --sass-metrics: a row of sass_metric
 *	struct etl_pc_cubin   a piece of a cubin, which follows: a row of cubin
 */
#pragma once

#include <stdint.h>

enum { ETL_PC_TEXT = 1, ETL_PC_WINDOW, ETL_PC_SAMPLE, ETL_PC_CUBIN, ETL_SASS_COUNT };
/* A longer text is cut. */
#define ETL_MOST_PC_TEXT 8192u
/* Of a cubin that is longer, which is stored in pieces. */
#define ETL_PC_CUBIN_PIECE 32768u

struct etl_pc_text {
	uint32_t bytes; /* of the entry */
	uint32_t type;
	uint32_t length; /* of the text, which follows */
	uint32_t reserved;
};

struct etl_pc_window {
	uint32_t bytes;
	uint32_t type;
	int64_t start_ns, end_ns;
	uint32_t context_id;
	int32_t device_id; /* below zero: not known */
	uint64_t samples; /* all */
	uint64_t dropped; /* by the hardware */
	uint64_t not_user; /* of kernels that are not the program's */
	uint64_t stored; /* in rows of pc_sample */
	uint64_t lost; /* that found no room */
	uint32_t is_full; /* the hardware's buffer: nothing else is known */
	uint32_t is_serialized;
	uint64_t period_cycles; /* 0: CUPTI's default */
};

struct etl_pc_sample {
	uint32_t bytes;
	uint32_t type;
	/* How far in front of this entry their texts begin; 0: there is none. */
	uint32_t function, reason;
	int64_t start_ns, end_ns;
	uint64_t cubin_crc;
	uint64_t pc_offset;
	uint32_t context_id;
	int32_t device_id;
	uint32_t correlation_id; /* 0: not known */
	uint32_t samples;
	uint32_t not_issued; /* of these, with a scheduler that issued nothing */
	uint32_t reserved;
};

struct etl_sass_count {
	uint32_t bytes;
	uint32_t type;
	/* As those of etl_pc_sample. */
	uint32_t function, metric;
	int64_t start_ns, end_ns;
	uint64_t cubin_crc;
	uint64_t pc_offset;
	uint64_t value;
	uint32_t context_id;
	int32_t device_id;
};

struct etl_pc_cubin {
	uint32_t bytes;
	uint32_t type;
	uint64_t cubin_crc;
	uint64_t size; /* of the whole */
	uint32_t at; /* where in the whole this piece begins */
	uint32_t length; /* of the piece, which follows; 0: the bytes are not kept */
};

/* What CUPTI's functions for PC sampling take: one struct a call, as in etl/profiler_params.h.
 *
 * Members as documented in NVIDIA's CUPTI reference ("CUPTI PC Sampling API"); nothing of its
 * headers is used.  They are the same in CUDA 12 and 13. */
#pragma once

#include "etl/profiler_params.h"

enum { PC_REASON_NAME_BYTES = 128 };
enum { PC_CONTINUOUS = 1, PC_SERIALIZED = 2 }; /* modes of collection */
/* What can be configured. */
enum { PC_PERIOD = 1, PC_MODE = 5, PC_START_STOP = 6, PC_DATA_BUFFER = 8 };

#define PC_HEAD                                                                                    \
	PM_HEAD;                                                                                   \
	void *context

struct pc_context { /* Enable, Disable, Start, Stop */
	PC_HEAD;
};

struct pc_attribute {
	int type;
	int status; /* out */
	union {
		uint64_t all[3];
		uint32_t number;
		void *buffer; /* struct pc_data */
	} value;
};

struct pc_configuration {
	PC_HEAD;
	size_t count;
	struct pc_attribute *attributes;
};

struct pc_get_data {
	PC_HEAD;
	void *data; /* struct pc_data */
};

struct pc_count_reasons {
	PC_HEAD;
	size_t *count; /* out */
};

struct pc_reasons {
	PC_HEAD;
	size_t count;
	uint32_t *indices;
	char **names; /* of PC_REASON_NAME_BYTES each */
};

struct pc_cubin_crc {
	size_t struct_size;
	size_t bytes;
	const void *cubin;
	uint64_t crc; /* out */
};

/* A reason for which warps were found waiting at a PC, and how often. */
struct pc_stall {
	uint32_t reason;
	uint32_t samples;
};

struct pc_record {
	size_t size;
	uint64_t cubin_crc;
	uint64_t pc_offset;
	uint32_t function_index;
	uint32_t pad;
	char *function;
	size_t stall_count;
	struct pc_stall *stalls; /* room for all reasons, ours */
	uint32_t correlation_id; /* 0 in continuous mode */
};

struct pc_data {
	size_t size;
	size_t room; /* records that there is room for */
	uint64_t samples; /* all, those that are in no record, too */
	uint64_t dropped; /* by the hardware */
	size_t count; /* records that are here */
	size_t remaining; /* records that are still to be had */
	uint64_t range;
	struct pc_record *records;
	uint64_t not_user; /* of kernels that are not the program's */
	uint8_t is_full; /* the hardware's buffer: nothing else is known then */
};

/* CUPTI 13 asks for offsets that are those of packed structs; without a gap they are the same. */
_Static_assert(sizeof(struct pc_record) == 64 && sizeof(struct pc_data) == 80,
	       "CUPTI's records of PC sampling");

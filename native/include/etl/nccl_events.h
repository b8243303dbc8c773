/* What NCCL tells its profiler plugin, in band: a slot of content ETL_NCCL_EVENTS holds one `struct
 * etl_nccl_event` for each operation, and for each channel of one and each phase of a
 * channel. */
#pragma once

#include <stdint.h>

enum etl_nccl_kind { ETL_NCCL_COLLECTIVE, ETL_NCCL_P2P, ETL_NCCL_COPY, ETL_NCCL_CHANNEL,
		     ETL_NCCL_PHASE, ETL_N_NCCL_KINDS };

enum etl_nccl_known {
	ETL_NCCL_HAS_SEQUENCE = 1,
	ETL_NCCL_HAS_GRAPH = 2, /* `is_graph` is known */
	ETL_NCCL_HAS_PEER = 4,
	ETL_NCCL_HAS_ROOT = 8,
};

/* Times are CLOCK_REALTIME, and 0 if not known, except for the GPU's own.  Without an end: it had
 * not ended when the capture did. */
struct etl_nccl_event {
	uint64_t event, parent, group; /* numbers in the process; 0: none */
	uint64_t communicator, sequence, count, stream;
	int64_t call_start_ns, start_ns, end_ns;
	int64_t launch_start_ns, launch_end_ns; /* the kernel was launched between the two */
	uint64_t gpu_start, gpu_end; /* the GPU's timer */
	int32_t rank, ranks, peer; /* `peer` is the root of a collective */
	uint32_t thread_id;
	uint16_t kind, known, is_graph, version, channels, warps;
	uint32_t reserved;
	/* Cut, and zero-terminated only if shorter. */
	char function[24], datatype[16], algorithm[16], protocol[16], name[32];
};

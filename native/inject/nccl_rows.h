/* What NCCL tells its profiler plugin becomes rows of nccl_event. */
#pragma once

#include <stdint.h>

/* Types of events: bits of the mask that the plugin answers. */
enum etl_nccl_event_type {
	ETL_NCCL_GROUP = 1,
	ETL_NCCL_COLL = 1 << 1,
	ETL_NCCL_P2P_TASK = 1 << 2,
	ETL_NCCL_KERNEL_CHANNEL = 1 << 6,
	ETL_NCCL_COLL_API = 1 << 9,
	ETL_NCCL_P2P_API = 1 << 10,
	ETL_NCCL_KERNEL_LAUNCH = 1 << 11,
	ETL_NCCL_COPY_COLL = 1 << 12,
	ETL_NCCL_KERNEL_PHASE = 1 << 15,
};

/* The context that NCCL passes with each event. */
struct etl_nccl_communicator {
	uint64_t id;
	int rank, ranks;
	uint16_t version; /* of the interface */
	char name[32];
};

/* Members of the plugin, for all versions: an event begins, ends, and changes its state. */
int etl_nccl_start(void *context, void **handle, const void *descriptor);
int etl_nccl_stop(void *handle);
int etl_nccl_state(void *handle, int number, const void *arguments);
/* Hands over what has gathered; for the timer thread. */
void etl_nccl_flush(void);
/* The capture ends: what has begun and not ended becomes rows without an end. */
void etl_nccl_finish(void);
void etl_nccl_forget(void);

/* Nodes of CUDA graphs, in band: a slot of content ETL_GRAPH_NODES holds one `struct
 * etl_graph_node` for each node that was made, and for each that was made of another one: a graph's
 * that was cloned, an executable graph's. */
#pragma once

#include <stdint.h>

struct etl_graph_node {
	uint64_t id; /* CUPTI's, as records of kernels have it */
	uint64_t source_id; /* of the node that it was made of, or is updated from; 0: of none */
	uint64_t stack_id; /* as in struct etl_launch_stack; only of one that was made of none */
	int64_t at_ns; /* CLOCK_REALTIME */
	uint32_t thread_id;
	uint16_t kind; /* CUgraphNodeType */
	uint16_t state; /* enum etl_stack_state */
};

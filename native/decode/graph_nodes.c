#include <string.h>

#include "decode/graph_nodes.h"
#include "decode/stacks.h"
#include "etl/graph_nodes.h"
#include "etl/stacks.h"

/* CUgraphNodeType. */
static const char *const kinds[] = { "kernel",	     "memcpy",		  "memset",
				     "host",	     "graph",		  "empty",
				     "event_wait",   "event_record",	  "semaphore_signal",
				     "semaphore_wait", "mem_alloc",	  "mem_free",
				     "batch_mem_op", "conditional" };

enum { NODE_PROCESS, NODE_ID, NODE_SOURCE, NODE_KIND, NODE_AT, NODE_THREAD, NODE_STACK, NODE_STATE,
       NODE_COLUMNS };
_Static_assert(sizeof graph_node_columns / sizeof *graph_node_columns == NODE_COLUMNS,
	       "the columns of graph_node");

static int add_node(struct etl_process *process, const void *entry)
{
	const struct etl_graph_node *node = entry;
	struct value row[NODE_COLUMNS] = {
		[NODE_PROCESS] = KNOWN(process->process_id),
		[NODE_ID] = KNOWN(node->id),
		[NODE_SOURCE] = known_if(node->source_id, node->source_id),
		[NODE_AT] = KNOWN(node->at_ns),
		[NODE_THREAD] = KNOWN(node->thread_id),
		[NODE_STACK] = known_if(node->stack_id, node->stack_id),
	};

	if (!node->id || node->state >= ETL_N_STACK_STATES) {
		process->decoded.damaged_graph_nodes++;
		return 0;
	}
	if (node->kind < sizeof kinds / sizeof *kinds)
		row[NODE_KIND] = row_word(process, ETL_TABLE_GRAPH_NODE, NODE_KIND, kinds[node->kind]);
	if (!node->source_id)
		row[NODE_STATE] = stack_state(process, ETL_TABLE_GRAPH_NODE, NODE_STATE,
						  node->state);
	return row_add(process, ETL_TABLE_GRAPH_NODE, row, &process->decoded.graph_nodes);
}

int decode_graph_nodes(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	return decode_entries(process, data, bytes, sizeof(struct etl_graph_node), add_node);
}

/* Nodes of CUDA graphs: from which stack and when each was captured or added, and which became
 * which when a graph is cloned or instantiated.  Goes with --python-stacks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void etl_graph_nodes_forget(void);
/* Asks CUPTI to tell a subscriber; what this CUPTI does not tell of is not known then. */
void etl_graph_nodes_enable(void *subscriber);
/* Whether it asked for this callback. */
bool etl_graph_nodes_mean(uint32_t domain, uint32_t cbid);
/* What the subscriber does about a call of the driver's. */
void etl_graph_nodes_call(uint32_t cbid, bool is_return);
/* And about the resource domain: CUpti_ResourceData. */
void etl_graph_nodes_resource(uint32_t cbid, const void *info);
/* Hands over what has gathered; for the timer thread. */
void etl_graph_nodes_flush(void);

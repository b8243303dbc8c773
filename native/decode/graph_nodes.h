/* Rows of graph_node; see etl/graph_nodes.h. */
#pragma once

#include "decode/process.h"

/* A slot of nodes; -ENOMEM. */
ETL_MUST_CHECK int decode_graph_nodes(struct etl_process *process, const uint8_t *data, uint32_t bytes);

/* CUDA graphs of the fake driver, as far as the fake CUPTI tells of them.
 *
 * A node's number for tools is that of its graph and its own in there.  A graph that is cloned or
 * instantiated gets new nodes, each with the one that it was made of; so does that of a child. */
#ifndef FAKE_GRAPHS_H
#define FAKE_GRAPHS_H

#include <stdint.h>

/* CUgraphNodeType. */
enum { FAKE_NODE_KERNEL = 0, FAKE_NODE_GRAPH = 4 };

struct fake_graph;
struct fake_node {
    uint64_t id;
    uint32_t type, name_index;
    const char *name; /* of the kernel */
    struct fake_graph *graph;
    struct fake_node *original; /* NULL: captured or added */
    struct fake_graph *child;   /* of a node that is a graph */
    struct fake_node *next;
};
struct fake_graph { /* or an executable one */
    uint32_t id, made; /* nodes so far */
    struct fake_node *first, **last;
};

/* What CUPTI tells of in the middle of a call: CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, _CLONED and
 * _GRAPH_NODE_UPDATED. */
enum { FAKE_NODE_CREATED = 13, FAKE_NODE_CLONED = 20, FAKE_NODE_UPDATED = 22 };
struct fake_node_event {
    uint32_t what;
    struct fake_node *node, *original;
    struct fake_node_event *next;
};

#endif

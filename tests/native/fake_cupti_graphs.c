/* What is told of the nodes of graphs, and their records. */
#include "fake_cupti.h"
#include "fake_graphs.h"

struct graph_data { /* CUpti_GraphData */
    void *graph, *original_graph;
    void *node, *original_node;
    uint32_t type;
    void *dependency;
    void *executable;
};

API int cuptiGetGraphNodeId(const struct fake_node *node, uint64_t *id);
API int cuptiGetGraphNodeId(const struct fake_node *node, uint64_t *id) {
    ENTER();
    if (node == NULL || id == NULL)
        return INVALID_PARAMETER;
    *id = node->id;
    return OK;
}

void tell_of_nodes(const struct fake_node_event *event) {
    for (; event != NULL; event = event->next) {
        struct graph_data graph = {.graph = event->node->graph,
                                   .node = event->node,
                                   .original_node = event->original,
                                   .type = event->node->type};
        if (event->original != NULL)
            graph.original_graph = event->original->graph;
        call_back_resource(event->what, 1, 0, &graph);
    }
}

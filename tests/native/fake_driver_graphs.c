/* CUDA graphs of the fake driver: captured from a stream or made by hand, cloned, instantiated,
 * updated and launched.  Nothing is freed: traces name what was destroyed, too. */
#define _GNU_SOURCE
#include "fake_cuda.h"
#include "fake_graphs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* The driver's callback ids. */
enum {
    GRAPH_CLONE = 523,
    GRAPH_ADD_CHILD = 525,
    GRAPH_INSTANTIATE = 643,
    GRAPH_ADD_KERNEL = 689,
    GRAPH_UPDATE = 696,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t graphs;
static _Thread_local struct fake_graph *capturing;

struct told {
    struct fake_node_event *first, **last;
};

static void *make(size_t size) {
    void *made = calloc(1, size);
    if (made == NULL)
        abort();
    return made;
}

static struct fake_graph *new_graph(void) {
    struct fake_graph *graph = make(sizeof *graph);
    pthread_mutex_lock(&lock);
    graph->id = ++graphs;
    pthread_mutex_unlock(&lock);
    graph->last = &graph->first;
    return graph;
}

static void tell(struct told *told, uint32_t what, struct fake_node *node,
                 struct fake_node *original) {
    struct fake_node_event *event = make(sizeof *event);
    *event = (struct fake_node_event){.what = what, .node = node, .original = original};
    *told->last = event;
    told->last = &event->next;
}

static struct fake_node *add(struct fake_graph *graph, uint32_t type, uint32_t name,
                             struct told *told) {
    struct fake_node *node = make(sizeof *node);
    *node = (struct fake_node){.id = (uint64_t)graph->id << 32 | ++graph->made,
                               .type = type,
                               .name_index = name % FAKE_MAX_NAMES,
                               .name = fake_kernel_name(name),
                               .graph = graph};
    *graph->last = node;
    graph->last = &node->next;
    tell(told, FAKE_NODE_CREATED, node, NULL);
    return node;
}

/* CUPTI tells of each new node that it was created, and then of what it is a clone. */
static struct fake_graph *copy_of(const struct fake_graph *from, struct told *told) {
    struct fake_graph *graph = new_graph();
    for (struct fake_node *node = from->first; node != NULL; node = node->next) {
        struct fake_node *new = add(graph, node->type, node->name_index, told);
        new->original = node;
        tell(told, FAKE_NODE_CLONED, new, node);
        if (node->child != NULL)
            new->child = copy_of(node->child, told);
    }
    return graph;
}

static void call(uint32_t cbid, const struct told *told) {
    fake_driver_send(&(struct fake_event){.type = FAKE_CALL,
                                          .api = FAKE_API_DRIVER,
                                          .cbid = cbid,
                                          .nodes = told->first});
}

/* What this thread launches goes into the graph instead, until the end. */
void *fakeGraphBegin(void) {
    capturing = new_graph();
    return capturing;
}

void fakeGraphEnd(void) {
    capturing = NULL;
}

int fake_driver_capture(struct fake_event *event) {
    if (capturing == NULL || event->type != FAKE_LAUNCH)
        return 0;
    struct told told = {.last = &told.first};
    add(capturing, FAKE_NODE_KERNEL, event->name_index, &told);
    event->nodes = told.first;
    event->flags |= FAKE_FLAG_CAPTURED;
    return 1;
}

void *fakeGraphCreate(void) {
    return new_graph();
}

int fakeGraphAddKernel(void *graph, uint32_t name_index) {
    struct told told = {.last = &told.first};
    add(graph, FAKE_NODE_KERNEL, name_index, &told);
    call(GRAPH_ADD_KERNEL, &told);
    return 0;
}

int fakeGraphAddChild(void *graph, void *child) {
    struct told told = {.last = &told.first};
    add(graph, FAKE_NODE_GRAPH, 0, &told)->child = copy_of(child, &told);
    call(GRAPH_ADD_CHILD, &told);
    return 0;
}

static void *cloned(const struct fake_graph *graph, uint32_t cbid) {
    struct told told = {.last = &told.first};
    struct fake_graph *made = copy_of(graph, &told);
    call(cbid, &told);
    return made;
}

void *fakeGraphClone(void *graph) {
    return cloned(graph, GRAPH_CLONE);
}

void *fakeGraphInstantiate(void *graph) {
    return cloned(graph, GRAPH_INSTANTIATE);
}

/* The nodes go on with what those of another graph do; 1 if it has another shape. */
int fakeGraphUpdate(void *executable, void *graph) {
    struct told told = {.last = &told.first};
    struct fake_node *from = ((struct fake_graph *)graph)->first;
    struct fake_node *node = ((struct fake_graph *)executable)->first;
    for (; node != NULL && from != NULL; node = node->next, from = from->next) {
        node->name_index = from->name_index;
        node->name = from->name;
        node->original = from;
        tell(&told, FAKE_NODE_UPDATED, node, from);
    }
    call(GRAPH_UPDATE, &told);
    return node != from;
}

/* The nodes that do something, those of graphs inside too; how many, and where to if not NULL. */
static size_t list(const struct fake_graph *graph, const struct fake_node **out) {
    size_t count = 0;
    for (const struct fake_node *node = graph->first; node != NULL; node = node->next)
        if (node->child != NULL)
            count += list(node->child, out != NULL ? out + count : NULL);
        else if (out != NULL)
            out[count++] = node;
        else
            count++;
    return count;
}

int fakeGraphLaunch(void *executable, uint32_t stream) {
    const struct fake_node **nodes = make((list(executable, NULL) + 1) * sizeof *nodes);
    list(executable, nodes);
    int result = fake_driver_send(&(struct fake_event){.type = FAKE_LAUNCH,
                                                 .stream = stream,
                                                 .flags = FAKE_FLAG_DRIVER,
                                                 .runs = nodes});
    free(nodes);
    return result;
}

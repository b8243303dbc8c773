/* Ids of other APIs that a client pushed: records of them precede those of the calls. */
#include "fake_cupti.h"

static _Thread_local struct {
    uint64_t ids[EXTERNAL_KINDS][EXTERNAL_DEPTH];
    uint32_t depth[EXTERNAL_KINDS];
} external[MAX_SUBSCRIBERS];

void emit_external(struct queue *queue, uint32_t correlation) {
    size_t number = (size_t)(queue->subscriber - subscribers);
    for (uint32_t kind = 1; kind < EXTERNAL_KINDS; kind++) {
        uint32_t depth = external[number].depth[kind];
        if (depth == 0)
            continue;
        struct record record = emit(queue, KIND_EXTERNAL_CORRELATION);
        put(record, F_EXTERNAL_KIND, kind);
        put(record, F_EXTERNAL_ID, external[number].ids[kind][depth - 1]);
        put(record, F_CORRELATION, correlation);
    }
}

int push_external(struct subscriber *subscriber, uint32_t kind, uint64_t id) {
    size_t number = (size_t)(subscriber - subscribers);
    if (kind == 0 || kind >= EXTERNAL_KINDS)
        return INVALID_PARAMETER;
    if (external[number].depth[kind] == EXTERNAL_DEPTH)
        return MAX_LIMIT_REACHED;
    external[number].ids[kind][external[number].depth[kind]++] = id;
    return OK;
}

int pop_external(struct subscriber *subscriber, uint32_t kind, uint64_t *id) {
    size_t number = (size_t)(subscriber - subscribers);
    if (kind == 0 || kind >= EXTERNAL_KINDS)
        return INVALID_PARAMETER;
    if (external[number].depth[kind] == 0)
        return QUEUE_EMPTY;
    uint64_t last = external[number].ids[kind][--external[number].depth[kind]];
    if (id != NULL)
        *id = last;
    return OK;
}

/* From the program's calls to records. */
#define _GNU_SOURCE
#include "fake_cupti.h"
#include "fake_cupti_ids.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GRAPH = 9, FIRST_STREAM = 7, STREAMS = 1024, OBJECT_THREAD = 2, FIRST_GRID = 100 };

/* One event of the program, the same for all subscribers. */
struct work {
    const struct fake_event *event;
    struct call call;
    uint64_t now;
    bool graph;        /* a launch of a whole graph */
    uint32_t untimed;  /* of its nodes, how many found no room in a device buffer */
    uint32_t memory_number;
    uint64_t grid;     /* the driver numbers launches and sets, whoever records them */
};

static atomic_uint next_correlation, next_memory, next_launch;
static atomic_ulong next_grid = FIRST_GRID;
static atomic_uchar stream_seen[MAX_SUBSCRIBERS][STREAMS];
static atomic_bool devices_seen[MAX_SUBSCRIBERS];
static atomic_ulong in_device_buffers;

static bool on(const struct queue *queue, uint32_t kind) {
    return atomic_load_explicit(&queue->subscriber->kind_on[kind], memory_order_relaxed) != 0;
}
/* Of the two kinds of kernels' records, at most one is on. */
#define OF_KERNELS(queue) (on(queue, KIND_KERNEL) ? KIND_KERNEL : KIND_CONCURRENT_KERNEL)

static uint64_t thread_id(const struct queue *queue) {
    static _Thread_local uint32_t system;
    if (!atomic_load_explicit(&queue->subscriber->system_thread_id, memory_order_relaxed))
        return (uint64_t)pthread_self();
    if (system == 0)
        system = (uint32_t)syscall(SYS_gettid);
    return system;
}

static void emit_future(struct queue *queue, const struct record_set *set) {
    uint8_t *record = reserve(queue, set, KIND_FUTURE, FUTURE_STRIDE);
    if (record != NULL)
        memset(record + 4, 0xEE, FUTURE_STRIDE - 4);
}

struct record emit(struct queue *queue, uint32_t kind) {
    const struct record_set *set = atomic_load(&queue->subscriber->set);
    const struct writer *writer = set->writers[kind];
    if (options.unknown_every != 0 && queue->since_unknown++ >= options.unknown_every) {
        queue->since_unknown = 0;
        emit_future(queue, set);
    }
    uint8_t *record = reserve(queue, set, kind, writer->stride);
    if (record != NULL) {
        uint64_t variant = queue->sequence[kind]++ % VARIANTS;
        memcpy(record, writer->templates[variant], writer->stride);
        memcpy(record, &kind, sizeof kind);
    }
    return (struct record){record, writer};
}

/* Devices, contexts and streams appear with the first work that needs them. */
static void introduce(struct queue *queue, uint32_t stream) {
    size_t number = (size_t)(queue->subscriber - subscribers);
    if (!atomic_load_explicit(&devices_seen[number], memory_order_relaxed) &&
        !atomic_exchange(&devices_seen[number], true)) {
        for (uint32_t device = 0; device < options.devices; device++) {
            if (on(queue, KIND_DEVICE)) {
                struct record record = emit(queue, KIND_DEVICE);
                put(record, F_ID, device);
                put(record, F_NAME, (uintptr_t)"Fake GPU");
            }
            if (on(queue, KIND_CONTEXT)) {
                struct record record = emit(queue, KIND_CONTEXT);
                put(record, F_DEVICE, device);
                put(record, F_CONTEXT, device + 1);
                put(record, F_PROCESS, process_id());
            }
        }
    }
    atomic_uchar *seen = &stream_seen[number][stream % STREAMS];
    if (stream >= STREAMS || atomic_load_explicit(seen, memory_order_relaxed) ||
        atomic_exchange(seen, 1) || !on(queue, KIND_STREAM))
        return;
    struct record record = emit(queue, KIND_STREAM);
    put(record, F_CONTEXT, stream % options.devices + 1);
    put(record, F_STREAM, stream + FIRST_STREAM);
}

static void emit_call(struct queue *queue, uint32_t api, uint32_t cbid, uint32_t correlation,
                      uint64_t start, uint64_t end) {
    if (cbid == 0 || !atomic_load_explicit(&queue->subscriber->cbid_on[api][cbid % MAX_CBIDS],
                                           memory_order_relaxed))
        return;
    if (on(queue, KIND_EXTERNAL_CORRELATION))
        emit_external(queue, correlation);
    struct record record = emit(queue, api == FAKE_API_DRIVER ? KIND_DRIVER : KIND_RUNTIME);
    put(record, F_CBID, cbid);
    put(record, F_START, start);
    put(record, F_END, end);
    put(record, F_PROCESS, process_id());
    put(record, F_THREAD, thread_id(queue));
    put(record, F_CORRELATION, correlation);
}

static struct record emit_work(struct queue *queue, uint32_t kind, const struct work *work,
                               bool untimed) {
    const struct fake_event *event = work->event;
    struct record record = emit(queue, kind);
    if (record.at == NULL)
        return record;
    uint32_t correlation = work->call.correlation;
    bool endless = (event->flags & FAKE_FLAG_ENDLESS) != 0;
    bool late = !untimed && (options.late_ms != 0 || endless);
    uint64_t end = late || untimed ? 0 : work->now - 10 - correlation % 256;
    put(record, F_START, untimed ? 0 : work->now - 500);
    put(record, F_END, end);
    put(record, F_COMPLETED, end);
    put(record, F_DEVICE, event->stream % options.devices);
    put(record, F_CONTEXT, event->stream % options.devices + 1);
    put(record, F_STREAM, event->stream + FIRST_STREAM);
    /* Work carries a correlation id only where API records are collected. */
    uint32_t joined = atomic_load_explicit(&calls_traced, memory_order_relaxed) ? correlation : 0;
    put(record, F_CORRELATION, joined);
    put(record, F_RUNTIME_CORRELATION, joined);
    put(record, F_BYTES, event->bytes);
    if (kind == KIND_KERNEL || kind == KIND_CONCURRENT_KERNEL) {
        put(record, F_NAME, (uintptr_t)name_for(queue->current, event->name_index, event->text));
        /* Kernels of graphs keep the number that they got when the graph was made. */
        put(record, F_GRID, work->graph ? FIRST_GRID - 1 : work->grid);
    }
    else if (kind != KIND_GRAPH_TRACE)
        put(record, F_FLAGS, correlation & 1u);
    if (late)
        complete_later(queue, record.at, endless);
    return record;
}

static void memory_record(struct queue *queue, const struct work *work) {
    struct record record = emit(queue, KIND_MEMORY2);
    put(record, F_TIMESTAMP, work->now - 700);
    put(record, F_CORRELATION, work->call.correlation);
    put(record, F_BYTES, work->event->bytes);
    put(record, F_DEVICE, 0);
    put(record, F_CONTEXT, 1);
    put(record, F_PROCESS, process_id());
    put(record, F_NAME, work->memory_number % 2 ? (uintptr_t)"allocation" : 0);
}

static void synchronization_record(struct queue *queue, const struct work *work) {
    struct record record = emit(queue, KIND_SYNCHRONIZATION);
    put(record, F_START, work->now - 880);
    put(record, F_END, work->now - 620);
    put(record, F_CORRELATION, work->call.correlation);
    put(record, F_CONTEXT, 1);
}

/* One record of the whole where graphs are traced so, else one of each node. */
static void graph_launch(struct queue *queue, const struct work *work) {
    bool whole = on(queue, KIND_GRAPH_TRACE);
    uint64_t nodes = whole ? 1 : options.graph_nodes;
    uint32_t each = OF_KERNELS(queue);
    for (uint64_t node = 1; node <= nodes; node++) {
        if (!whole && !on(queue, each))
            return;
        bool untimed = !whole && node > nodes - work->untimed;
        struct record record = emit_work(queue, whole ? KIND_GRAPH_TRACE : each, work, untimed);
        put(record, F_GRAPH, GRAPH);
        put(record, F_GRAPH_NODE, node);
        count(C_UNTIMED, untimed);
    }
}

static void replay(struct queue *queue, struct work work) {
    struct fake_event event = *work.event;
    work.event = &event;
    for (const struct fake_node *const *node = event.runs; *node != NULL; node++) {
        event.name_index = (*node)->name_index;
        event.text = (*node)->name;
        struct record record = emit_work(queue, OF_KERNELS(queue), &work, false);
        put(record, F_GRAPH, (*node)->id >> 32);
        put(record, F_GRAPH_NODE, (*node)->id);
    }
}

static void launch(struct queue *queue, const struct work *work) {
    uint32_t kind = OF_KERNELS(queue);
    if (work->event->runs != NULL && on(queue, kind) && !on(queue, KIND_GRAPH_TRACE))
        replay(queue, *work);
    else if (work->graph)
        graph_launch(queue, work);
    else if (on(queue, kind)) {
        emit_work(queue, kind, work, ranges_mark("untimed"));
        if (ranges_mark("own"))
            put(emit_work(queue, kind, work, false), F_NAME, RANGES_OWN);
    }
}

static void handle(struct queue *queue, const struct work *work) {
    const struct call *call = &work->call;
    emit_call(queue, FAKE_API_RUNTIME, call->runtime, call->correlation, work->now - 900,
              work->now - 600);
    emit_call(queue, FAKE_API_DRIVER, call->driver, call->correlation, work->now - 850,
              work->now - 650);
    switch (work->event->type) {
    case FAKE_LAUNCH:
        if (!(work->event->flags & FAKE_FLAG_CAPTURED))
            launch(queue, work);
        break;
    case FAKE_COPY:
        if (on(queue, KIND_MEMCPY))
            emit_work(queue, KIND_MEMCPY, work, false);
        break;
    case FAKE_SET:
        if (on(queue, KIND_MEMSET))
            emit_work(queue, KIND_MEMSET, work, false);
        break;
    case FAKE_MALLOC:
        if (on(queue, KIND_MEMORY2))
            memory_record(queue, work);
        break;
    case FAKE_SYNC:
        if (on(queue, KIND_SYNCHRONIZATION))
            synchronization_record(queue, work);
        if (on(queue, KIND_ENVIRONMENT)) {
            struct record record = emit(queue, KIND_ENVIRONMENT);
            put(record, F_TIMESTAMP, work->now);
            put(record, F_DEVICE, 0);
        }
    }
}

static void owed_overhead(struct queue *queue, uint64_t now) {
    if (!queue->owes_overhead)
        return;
    queue->owes_overhead = false;
    if (on(queue, KIND_OVERHEAD)) {
        struct record record = emit(queue, KIND_OVERHEAD);
        put(record, F_START, now - 20);
        put(record, F_END, now);
        put(record, F_OVERHEAD_KIND, 7u << 16); /* activity buffer request */
        put(record, F_OBJECT_KIND, OBJECT_THREAD);
    }
}

/* Callback ids of the runtime and the driver. */
static void find_functions(struct work *work) {
    static const uint32_t functions[][2] = {
        [FAKE_LAUNCH] = {RT_LAUNCH_KERNEL, DRV_LAUNCH_KERNEL},
        [FAKE_COPY] = {RT_MEMCPY_ASYNC, DRV_MEMCPY_ASYNC},
        [FAKE_SET] = {RT_MEMSET_ASYNC, DRV_MEMSET_D8_ASYNC},
        [FAKE_MALLOC] = {RT_MALLOC, DRV_MEM_ALLOC},
        [FAKE_SYNC] = {RT_DEVICE_SYNCHRONIZE, DRV_CTX_SYNCHRONIZE},
        [FAKE_PROFILER] = {RT_PROFILER_STOP, DRV_PROFILER_STOP},
        [FAKE_PLAY] = {0, 0},
    };
    const struct fake_event *event = work->event;
    struct call *call = &work->call;
    call->runtime = functions[event->type][0];
    call->driver = functions[event->type][1];
    if (event->type == FAKE_CALL) {
        call->runtime = event->api == FAKE_API_RUNTIME ? event->cbid : 0;
        call->driver = event->api == FAKE_API_DRIVER ? event->cbid : 0;
    } else if (event->type == FAKE_PROFILER && event->flags != 0) {
        call->runtime = RT_PROFILER_START;
        call->driver = DRV_PROFILER_START;
    } else if (work->graph) {
        call->runtime = RT_GRAPH_LAUNCH;
        call->driver = DRV_GRAPH_LAUNCH;
    } else if (event->type == FAKE_LAUNCH && ranges_cooperate()) {
        call->runtime = RT_COOPERATIVE, call->driver = DRV_COOPERATIVE;
    } else if (event->flags & FAKE_FLAG_DRIVER) {
        call->runtime = 0;
    }
}

/* How many records of graph nodes find no room; a synchronisation empties the buffers. */
static uint32_t take_device_buffers(const struct work *work) {
    if (options.pool == 0)
        return 0;
    if (work->event->type == FAKE_SYNC)
        atomic_store(&in_device_buffers, 0);
    if (!work->graph)
        return 0;
    uint64_t each = (uint64_t)options.pool * *attribute(0) / 3200000; /* its default */
    uint64_t room = each * *attribute(2), nodes = options.graph_nodes;
    uint64_t before = atomic_fetch_add(&in_device_buffers, nodes);
    uint64_t left = before < room ? room - before : 0;
    return nodes > left ? (uint32_t)(nodes - left) : 0;
}

static struct work prepare(const struct fake_event *event) {
    struct work work = {.event = event};
    uint32_t every = event->type == FAKE_LAUNCH ? options.graph_every : 0;
    work.graph = event->runs != NULL ||
                 (every != 0 && atomic_fetch_add(&next_launch, 1) % every == every - 1);
    work.untimed = take_device_buffers(&work);
    uint32_t number = atomic_fetch_add(&next_correlation, 1);
    work.call.correlation = options.correlation + (number < options.stuck ? number : options.stuck);
    work.call.symbol = event->type == FAKE_LAUNCH && !work.graph ? event->text : NULL;
    if (!work.graph && (event->type == FAKE_LAUNCH || event->type == FAKE_SET))
        work.grid = atomic_fetch_add(&next_grid, 1);
    if (event->type == FAKE_MALLOC)
        work.memory_number = atomic_fetch_add(&next_memory, 1);
    find_functions(&work);
    work.call.result = event->flags & FAKE_FLAG_FAILS ? FAKE_FAILURE : 0;
    fill_arguments(&work.call, event, work.graph);
    return work;
}

static atomic_bool began;

bool has_work(void) {
    return atomic_load(&began);
}

void on_event(const struct fake_event *event) {
    if (atomic_load_explicit(&closing, memory_order_relaxed))
        return;
    if (event->type == FAKE_LAUNCH && !atomic_load_explicit(&began, memory_order_relaxed))
        atomic_store(&began, true);
    struct work work = prepare(event);
    call_back(&work.call, false);
    tell_of_nodes(event->nodes);
    for (unsigned i = 0; i < atomic_load_explicit(&subscriber_count, memory_order_relaxed); i++) {
        if (atomic_load_explicit(&subscribers[i].client, memory_order_relaxed) == NULL)
            continue;
        if (event->type == FAKE_PLAY) {
            play(&subscribers[i]);
            continue;
        }
        struct queue *queue = queue_lock(&subscribers[i]);
        work.now = timestamp();
        introduce(queue, event->stream);
        handle(queue, &work);
        owed_overhead(queue, work.now);
        queue_unlock(queue);
    }
    call_back_besides(event, work.call.correlation);
    call_back(&work.call, true);
}

static void marker_records(struct queue *queue, const struct marker *marker, uint64_t now) {
    struct record record = emit(queue, KIND_MARKER);
    uint32_t object[2] = {process_id(), (uint32_t)thread_id(queue)};
    if (record.at == NULL)
        return;
    put(record, F_FLAGS, marker->flags);
    put(record, F_TIMESTAMP, now);
    put(record, F_ID, marker->id);
    put(record, F_OBJECT_KIND, OBJECT_THREAD);
    if (record.writer->offset[F_OBJECT_ID] >= 0)
        memcpy(record.at + record.writer->offset[F_OBJECT_ID], object, sizeof object);
    put(record, F_PROCESS, process_id()); /* members of a user-defined record */
    put(record, F_THREAD, thread_id(queue));
    put(record, F_NAME, (uintptr_t)marker->name);
    put(record, F_DOMAIN, (uintptr_t)marker->domain);
    if ((marker->flags & MARKER_END) != 0 || !on(queue, KIND_MARKER_DATA))
        return;
    record = emit(queue, KIND_MARKER_DATA);
    bool coloured = marker->id % 2 != 0; /* without attributes, one or the other */
    put(record, F_ID, marker->id);
    if (marker->attributes != NULL) {
        coloured = marker->attributes->color_type == NVTX_COLOR_ARGB;
        put(record, F_COLOR, marker->attributes->color);
        put(record, F_CATEGORY, marker->attributes->category);
        if (marker->attributes->payload_type == NVTX_PAYLOAD_INT64) {
            put(record, F_PAYLOAD_KIND, 4); /* CUPTI_METRIC_VALUE_KIND_INT64 */
            put(record, F_PAYLOAD, marker->attributes->payload);
        }
    }
    put(record, F_FLAGS, coloured ? 2 : 1);
}

void on_marker(const struct marker *marker) {
    if (atomic_load(&closing))
        return;
    for (unsigned i = 0; i < atomic_load(&subscriber_count); i++) {
        if (atomic_load(&subscribers[i].client) == NULL || !subscribers[i].kind_on[KIND_MARKER])
            continue;
        struct queue *queue = queue_lock(&subscribers[i]);
        uint64_t now = timestamp();
        marker_records(queue, marker, now);
        owed_overhead(queue, now);
        queue_unlock(queue);
    }
}

/* From the program's calls to records. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Callback ids, the same in every release. */
enum {
    RT_MALLOC = 20,
    RT_MEMCPY_ASYNC = 41,
    RT_MEMSET_ASYNC = 51,
    RT_DEVICE_SYNCHRONIZE = 165,
    RT_LAUNCH_KERNEL = 211,
    RT_GRAPH_LAUNCH = 311,
    DRV_MEM_ALLOC = 243,
    DRV_CTX_SYNCHRONIZE = 17,
    DRV_MEMSET_D8_ASYNC = 216,
    DRV_MEMCPY_ASYNC = 306,
    DRV_LAUNCH_KERNEL = 307,
    DRV_GRAPH_LAUNCH = 514,
};
enum { GRAPH = 9, GRAPH_NODES = 3, FIRST_STREAM = 7, NVTX_DEPTH = 64, STREAMS = 1024 };
enum { MARKER_INSTANT = 1, MARKER_START = 2, MARKER_END = 4, OBJECT_THREAD = 2 };

static atomic_uint next_correlation, next_marker, next_memory, next_launch;
static atomic_uchar stream_seen[STREAMS];
static atomic_bool devices_seen;
static _Thread_local struct {
    uint32_t ids[NVTX_DEPTH];
    const char *domains[NVTX_DEPTH];
    uint32_t depth;
} nvtx;

static bool on(uint32_t kind) {
    return atomic_load_explicit(&kind_on[kind], memory_order_relaxed) != 0;
}

static uint32_t thread_id(void) {
    static _Thread_local uint32_t system;
    if (!atomic_load_explicit(&system_thread_id, memory_order_relaxed))
        return (uint32_t)pthread_self();
    if (system == 0)
        system = (uint32_t)syscall(SYS_gettid);
    return system;
}

static uint32_t process_id(void) {
    static atomic_uint known;
    if (atomic_load(&known) == 0)
        atomic_store(&known, (unsigned)getpid());
    return atomic_load(&known);
}

static void emit_future(struct queue *queue) {
    uint8_t *record = reserve(queue, KIND_FUTURE, FUTURE_STRIDE);
    if (record != NULL)
        memset(record + 4, 0xEE, FUTURE_STRIDE - 4);
}

uint8_t *emit(struct queue *queue, uint32_t kind) {
    const struct writer *writer = &writers[kind];
    if (options.unknown_every != 0 && queue->since_unknown++ >= options.unknown_every) {
        queue->since_unknown = 0;
        emit_future(queue);
    }
    uint8_t *record = reserve(queue, kind, writer->stride);
    if (record != NULL) {
        uint64_t variant = queue->sequence[kind]++ % VARIANTS;
        memcpy(record, writer->templates[variant], writer->stride);
        memcpy(record, &kind, sizeof kind);
    }
    return record;
}

/* Devices, contexts and streams appear with the first work that needs them. */
static void introduce(struct queue *queue, uint32_t stream) {
    if (!atomic_load_explicit(&devices_seen, memory_order_relaxed) &&
        !atomic_exchange(&devices_seen, true)) {
        for (uint32_t device = 0; device < options.devices; device++) {
            uint8_t *record = on(KIND_DEVICE) ? emit(queue, KIND_DEVICE) : NULL;
            if (record != NULL) {
                put(record, F_ID, device);
                put(record, F_NAME, (uintptr_t)"Fake GPU");
            }
            record = on(KIND_CONTEXT) ? emit(queue, KIND_CONTEXT) : NULL;
            if (record != NULL) {
                put(record, F_DEVICE, device);
                put(record, F_CONTEXT, device + 1);
                put(record, F_PROCESS, process_id());
            }
        }
    }
    if (stream >= STREAMS || atomic_load_explicit(&stream_seen[stream], memory_order_relaxed) ||
        atomic_exchange(&stream_seen[stream], 1) || !on(KIND_STREAM))
        return;
    uint8_t *record = emit(queue, KIND_STREAM);
    if (record != NULL) {
        put(record, F_CONTEXT, stream % options.devices + 1);
        put(record, F_STREAM, stream + FIRST_STREAM);
    }
}

static void emit_call(struct queue *queue, uint32_t api, uint32_t cbid, uint32_t correlation,
                      uint64_t start, uint64_t end) {
    if (!atomic_load_explicit(&cbid_on[api][cbid % MAX_CBIDS], memory_order_relaxed))
        return;
    uint8_t *record = emit(queue, api == FAKE_API_DRIVER ? KIND_DRIVER : KIND_RUNTIME);
    if (record == NULL)
        return;
    put(record, F_CBID, cbid);
    put(record, F_START, start);
    put(record, F_END, end);
    put(record, F_PROCESS, process_id());
    put(record, F_THREAD, thread_id());
    put(record, F_CORRELATION, correlation);
}

/* The call of a program and the driver call inside it, which shares its correlation id. */
static uint32_t call(struct queue *queue, uint32_t runtime, uint32_t driver, uint64_t now) {
    uint32_t correlation = options.correlation + atomic_fetch_add(&next_correlation, 1);
    if (runtime != 0)
        emit_call(queue, FAKE_API_RUNTIME, runtime, correlation, now - 900, now - 600);
    if (driver != 0)
        emit_call(queue, FAKE_API_DRIVER, driver, correlation, now - 850, now - 650);
    return correlation;
}

static uint8_t *emit_work(struct queue *queue, uint32_t kind, const struct fake_event *event,
                          uint32_t correlation, uint64_t now) {
    uint8_t *record = emit(queue, kind);
    if (record == NULL)
        return NULL;
    bool endless = (event->flags & FAKE_FLAG_ENDLESS) != 0;
    bool late = options.late_ms != 0 || endless;
    uint64_t end = late ? 0 : now - 10 - correlation % 256;
    put(record, F_START, now - 500);
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
    if (kind == KIND_KERNEL || kind == KIND_CONCURRENT_KERNEL)
        put(record, F_NAME, (uintptr_t)name_for(queue->current, event->name_index, event->text));
    else if (kind != KIND_GRAPH_TRACE)
        put(record, F_FLAGS, correlation & 1u);
    if (late)
        complete_later(queue, record, endless);
    return record;
}

static void memory_record(struct queue *queue, const struct fake_event *event,
                          uint32_t correlation, uint64_t now) {
    uint8_t *record = emit(queue, KIND_MEMORY2);
    if (record == NULL)
        return;
    put(record, F_TIMESTAMP, now - 700);
    put(record, F_CORRELATION, correlation);
    put(record, F_BYTES, event->bytes);
    put(record, F_DEVICE, 0);
    put(record, F_CONTEXT, 1);
    put(record, F_PROCESS, process_id());
    put(record, F_NAME, atomic_fetch_add(&next_memory, 1) % 2 ? (uintptr_t)"allocation" : 0);
}

static void synchronization_record(struct queue *queue, uint32_t correlation, uint64_t now) {
    uint8_t *record = emit(queue, KIND_SYNCHRONIZATION);
    if (record == NULL)
        return;
    put(record, F_START, now - 880);
    put(record, F_END, now - 620);
    put(record, F_CORRELATION, correlation);
    put(record, F_CONTEXT, 1);
}

static void marker_record(struct queue *queue, uint32_t flags, uint32_t id, const char *text,
                          const char *domain, uint64_t now) {
    uint8_t *record = emit(queue, KIND_MARKER);
    if (record == NULL)
        return;
    uint32_t object[2] = {process_id(), thread_id()};
    put(record, F_FLAGS, flags);
    put(record, F_TIMESTAMP, now);
    put(record, F_ID, id);
    put(record, F_OBJECT_KIND, OBJECT_THREAD);
    memcpy(record + writers[KIND_MARKER].offset[F_OBJECT_ID], object, sizeof object);
    put(record, F_NAME, (uintptr_t)text);
    put(record, F_DOMAIN, (uintptr_t)domain);
    record = flags != MARKER_END && on(KIND_MARKER_DATA) ? emit(queue, KIND_MARKER_DATA) : NULL;
    if (record != NULL) {
        put(record, F_ID, id);
        put(record, F_FLAGS, id % 2 ? 2 : 1); /* with a colour or without */
    }
}

static void marker(struct queue *queue, const struct fake_event *event, uint64_t now) {
    if (!atomic_load(&nvtx_attached) || !on(KIND_MARKER))
        return;
    if (event->type == FAKE_NVTX_POP) {
        if (nvtx.depth == 0 || --nvtx.depth >= NVTX_DEPTH)
            return;
        marker_record(queue, MARKER_END, nvtx.ids[nvtx.depth], NULL, nvtx.domains[nvtx.depth], now);
        return;
    }
    uint32_t id = atomic_fetch_add(&next_marker, 1) + 1;
    if (event->type == FAKE_NVTX_PUSH) {
        if (nvtx.depth < NVTX_DEPTH) {
            nvtx.ids[nvtx.depth] = id;
            nvtx.domains[nvtx.depth] = event->domain;
        }
        nvtx.depth++;
    }
    marker_record(queue, event->type == FAKE_NVTX_PUSH ? MARKER_START : MARKER_INSTANT, id,
                  event->text, event->domain, now);
}

static void environment_record(struct queue *queue, uint64_t now) {
    uint8_t *record = emit(queue, KIND_ENVIRONMENT);
    if (record == NULL)
        return;
    put(record, F_TIMESTAMP, now);
    put(record, F_DEVICE, 0);
}

/* One record of the whole where graphs are traced so, else one of each node. */
static void graph_launch(struct queue *queue, const struct fake_event *event, uint64_t now) {
    uint32_t id = call(queue, RT_GRAPH_LAUNCH, DRV_GRAPH_LAUNCH, now);
    bool whole = on(KIND_GRAPH_TRACE);
    for (uint64_t node = 1; node <= (whole ? 1 : GRAPH_NODES); node++) {
        if (!whole && !on(KIND_CONCURRENT_KERNEL))
            return;
        uint8_t *record = emit_work(queue, whole ? KIND_GRAPH_TRACE : KIND_CONCURRENT_KERNEL,
                                    event, id, now);
        if (record == NULL)
            continue;
        put(record, F_GRAPH, GRAPH);
        put(record, F_GRAPH_NODE, node);
    }
}

static void launch(struct queue *queue, const struct fake_event *event, uint64_t now) {
    if (options.graph_every != 0 &&
        atomic_fetch_add(&next_launch, 1) % options.graph_every == options.graph_every - 1) {
        graph_launch(queue, event, now);
        return;
    }
    bool driver_only = (event->flags & FAKE_FLAG_DRIVER) != 0;
    uint32_t id = call(queue, driver_only ? 0 : RT_LAUNCH_KERNEL, DRV_LAUNCH_KERNEL, now);
    if (on(KIND_CONCURRENT_KERNEL))
        emit_work(queue, KIND_CONCURRENT_KERNEL, event, id, now);
    else if (on(KIND_KERNEL))
        emit_work(queue, KIND_KERNEL, event, id, now);
}

static void handle(struct queue *queue, const struct fake_event *event, uint64_t now) {
    uint32_t id;
    switch (event->type) {
    case FAKE_LAUNCH:
        launch(queue, event, now);
        break;
    case FAKE_COPY:
        id = call(queue, RT_MEMCPY_ASYNC, DRV_MEMCPY_ASYNC, now);
        if (on(KIND_MEMCPY))
            emit_work(queue, KIND_MEMCPY, event, id, now);
        break;
    case FAKE_SET:
        id = call(queue, RT_MEMSET_ASYNC, DRV_MEMSET_D8_ASYNC, now);
        if (on(KIND_MEMSET))
            emit_work(queue, KIND_MEMSET, event, id, now);
        break;
    case FAKE_MALLOC:
        id = call(queue, RT_MALLOC, DRV_MEM_ALLOC, now);
        if (on(KIND_MEMORY2))
            memory_record(queue, event, id, now);
        break;
    case FAKE_SYNC:
        id = call(queue, RT_DEVICE_SYNCHRONIZE, DRV_CTX_SYNCHRONIZE, now);
        if (on(KIND_SYNCHRONIZATION))
            synchronization_record(queue, id, now);
        if (on(KIND_ENVIRONMENT))
            environment_record(queue, now);
        break;
    case FAKE_CALL:
        call(queue, event->api == FAKE_API_RUNTIME ? event->cbid : 0,
             event->api == FAKE_API_DRIVER ? event->cbid : 0, now);
        break;
    default:
        marker(queue, event, now);
    }
}

void on_event(const struct fake_event *event) {
    if (atomic_load_explicit(&closing, memory_order_relaxed) || !have_callbacks())
        return;
    if (event->type == FAKE_PLAY) {
        play();
        return;
    }
    struct queue *queue = queue_lock();
    uint64_t now = now_ns();
    if (event->type < FAKE_NVTX_PUSH)
        introduce(queue, event->stream);
    handle(queue, event, now);
    if (queue->owes_overhead) {
        queue->owes_overhead = false;
        uint8_t *record = on(KIND_OVERHEAD) ? emit(queue, KIND_OVERHEAD) : NULL;
        if (record != NULL) {
            put(record, F_START, now - 20);
            put(record, F_END, now);
            put(record, F_OVERHEAD_KIND, 7u << 16); /* activity buffer request */
            put(record, F_OBJECT_KIND, OBJECT_THREAD);
        }
        queue->owes_overhead = false;
    }
    queue_unlock(queue);
}

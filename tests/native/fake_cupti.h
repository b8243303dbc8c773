/* Inside the fake CUPTI.  One shared object per release: the same C files linked with
 * that release's generated tables and a list of the functions that it has.
 *
 * Environment, read when the library is loaded:
 *   FAKE_CUPTI_VERSION=n        what cuptiGetVersion answers instead of the release's own
 *   FAKE_CUPTI_PER_THREAD=0|1   a buffer per thread (default from 13.0 on) or one for all
 *   FAKE_CUPTI_LATE_MS=n        kernels, copies and sets complete n ms after their launch
 *   FAKE_CUPTI_DROP_EVERY=n     every n-th record is dropped
 *   FAKE_CUPTI_UNKNOWN_EVERY=n  after n records comes one of a kind that no client knows
 *   FAKE_CUPTI_UNKNOWN=step|refuse  whether cuptiActivityGetNextRecord steps over it
 *   FAKE_CUPTI_OTHER_CLIENT=1   another client has subscribed already
 *   FAKE_CUPTI_FAIL=f=c,f:a=c   function f (when its first argument is a) returns code c
 *   FAKE_CUPTI_CORRELATION=n    first correlation id
 *   FAKE_CUPTI_NAMES=moving     kernel names lie in memory that is reused with other names
 *                               once the buffer that points there was handed over
 *   FAKE_CUPTI_GRAPH_EVERY=n    every n-th launch is that of a graph of three kernels
 *   FAKE_CUPTI_DEVICES=n        streams are spread over n devices
 *   FAKE_CUPTI_AT_EXIT=1        buffers that are left are handed over while the process exits
 *   FAKE_CUPTI_CHECK_ZERO=0     do not check that ZEROED_OUT buffers are zero
 *   FAKE_CUPTI_PLAY=file        recorded buffers, played by fakePlay()
 *   FAKE_CUPTI_PLAY_ALL=1       play records of kinds and callback ids that are not enabled too
 *   FAKE_CUPTI_LOG=folder       what was emitted: sums in PID.N.counters
 *   FAKE_CUPTI_LOG_ROWS=1       and each record that was handed over: PID.N.rows
 */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include "fake_cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OK = 0,
    INVALID_PARAMETER = 1,
    INVALID_OPERATION = 7,
    SIZE_NOT_SUFFICIENT = 10,
    MAX_LIMIT_REACHED = 12,
    NOT_INITIALIZED = 15,
    INVALID_KIND = 21,
    NOT_SUPPORTED = 27,
    MULTIPLE_SUBSCRIBERS = 39,
    UNKNOWN_ERROR = 999,
};

enum {
    KIND_MEMCPY = 1,
    KIND_MEMSET = 2,
    KIND_KERNEL = 3,
    KIND_DRIVER = 4,
    KIND_RUNTIME = 5,
    KIND_DEVICE = 8,
    KIND_CONTEXT = 9,
    KIND_CONCURRENT_KERNEL = 10,
    KIND_MARKER = 12,
    KIND_MARKER_DATA = 13,
    KIND_OVERHEAD = 17,
    KIND_ENVIRONMENT = 20,
    KIND_STREAM = 37,
    KIND_SYNCHRONIZATION = 38,
    KIND_MEMORY2 = 49,
    KIND_GRAPH_TRACE = 51,
    KIND_FUTURE = 60, /* stands for what a later CUPTI may bring */
    KINDS = 64,
};

#define FUTURE_STRIDE 72u
#define MAX_STRIDE 320u
#define VARIANTS 16u
#define MAX_CBIDS 1024u

/* Generated from the facts, for one release. */
struct member {
    const char *name;
    uint16_t offset, size;
};
struct layout {
    uint32_t kind, stride;
    const struct member *members;
    uint32_t member_count;
};
struct struct_size {
    uint32_t kind, version, size;
};
struct release {
    const char *name;
    uint32_t api;
    const struct layout *layouts;
    uint32_t layout_count;
    const struct struct_size *sizes;
    uint32_t size_count;
    uint32_t runtime_size, driver_size; /* callback ids: 1 .. size-1 */
    const char *const *runtime_names, *const *driver_names;
};
extern const struct release fake_release;

struct options {
    uint32_t version, late_ms, drop_every, unknown_every, correlation, devices, graph_every;
    bool per_thread, unknown_refuse, other_client, moving_names, at_exit, check_zero;
    bool play_all, log_rows;
    const char *play, *log, *fail;
};
extern struct options options;

/* fake_cupti_state.c */
extern atomic_bool closing;                 /* the process exits or is a forked child */
extern atomic_uchar kind_on[KINDS];         /* cuptiActivityEnable */
extern atomic_uchar cbid_on[3][MAX_CBIDS];  /* by enum fake_api */
extern atomic_bool zeroed_out, nvtx_attached, system_thread_id;
extern atomic_bool calls_traced; /* API records were asked for: work has correlation ids */
int enter(const char *function, long argument); /* an error that was asked for, or 0 */
void attach_driver(void);                       /* start to receive events */
uint64_t now_ns(void);                          /* CLOCK_REALTIME */

/* fake_cupti_buffers.c */
struct buffer {
    uint8_t *data;
    size_t size, valid, max_records, records;
    uint32_t incomplete; /* records whose end is not known yet */
    uint32_t pending;    /* of these, how many will complete later */
    bool delivered, handed_over; /* taken out of its queue; and the callback is over */
    struct buffer *next;
    struct arena *arena;              /* with FAKE_CUPTI_NAMES=moving */
    uint32_t names[FAKE_MAX_NAMES];   /* kernels per name */
};
struct late {
    struct buffer *buffer;
    size_t offset;
    uint64_t due;
};
struct queue {
    pthread_mutex_t lock;
    struct buffer *current, *full;
    struct late *late; /* ring, oldest first */
    size_t late_head, late_count, late_size;
    uint64_t attempts, since_unknown, sequence[KINDS];
    bool owes_overhead; /* a buffer was requested since the last overhead record */
    struct queue *next;
};
typedef void (*request_callback)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*complete_callback)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid);

void set_callbacks(request_callback request, complete_callback complete);
bool have_callbacks(void);
struct queue *queue_lock(void);
void queue_unlock(struct queue *queue);
/* Room for a record in the queue's current buffer, its kind set; NULL if it was dropped. */
uint8_t *reserve(struct queue *queue, uint32_t kind, uint32_t stride);
void retire_current(struct queue *queue);
void complete_later(struct queue *queue, const uint8_t *record, bool never);
int flush(bool forced);
size_t take_dropped(void);
void stop_worker(void);

/* fake_cupti_values.c */
enum field {
    F_KIND, F_START, F_END, F_COMPLETED, F_TIMESTAMP, F_CORRELATION, F_RUNTIME_CORRELATION,
    F_NAME, F_DOMAIN, F_DEVICE, F_CONTEXT, F_STREAM, F_BYTES, F_CBID, F_PROCESS, F_THREAD,
    F_FLAGS, F_ID, F_OBJECT_KIND, F_OBJECT_ID, F_OVERHEAD_KIND, F_GRAPH, F_GRAPH_NODE, FIELDS,
};
struct writer {
    uint32_t stride; /* 0: this release has no such record */
    int16_t offset[FIELDS]; /* -1: the record has no such member */
    uint8_t size[FIELDS];
    uint8_t templates[VARIANTS][MAX_STRIDE];
};
extern struct writer writers[KINDS];
void init_values(void);
uint32_t stride_of(uint32_t kind); /* 0 if this release does not know it */
void put(uint8_t *record, enum field field, uint64_t value);
uint64_t get(const uint8_t *record, enum field field);

/* fake_cupti_events.c */
void on_event(const struct fake_event *event);
/* Copy of a record into the current buffer; for fake_cupti_play.c */
uint8_t *emit(struct queue *queue, uint32_t kind);

/* fake_cupti_names.c */
const char *name_for(struct buffer *buffer, uint32_t index, const char *stable);
void release_arena(struct buffer *buffer);

/* fake_cupti_play.c */
void play(void);

/* fake_cupti_log.c */
enum counter {
    C_REQUESTS, C_COMPLETIONS, C_NULL_REQUESTS, C_DIRTY_BUFFERS, C_MISALIGNED, C_FLUSH,
    C_FLUSH_FORCED, C_FLUSH_IN_CALLBACK, C_BYTES, C_NEXT_RECORD, C_ENABLES, C_CLIENTS,
    C_DROPPED_REPORTED, C_MAX_OUTSTANDING, C_OUTSTANDING, C_PLAYED, C_SWITCHES, COUNTERS = 32,
};
struct counters {
    uint64_t magic, pid, version, ended;
    char release[32];
    _Atomic uint64_t counter[COUNTERS];
    _Atomic uint64_t made[KINDS], delivered[KINDS], dropped[KINDS], incomplete[KINDS];
    _Atomic uint64_t sum_start[KINDS], sum_end[KINDS], sum_correlation[KINDS];
    _Atomic uint64_t client[8]; /* records handed to the n-th client that registered */
    _Atomic uint64_t api[3][MAX_CBIDS];
    _Atomic uint64_t names[FAKE_MAX_NAMES];
};
#define COUNTERS_MAGIC 0x31544e5543454b46ull /* "FKECUNT1" */
extern struct counters *counters;
void init_log(void);
void log_delivery(const struct buffer *buffer, unsigned client);

static inline void count(enum counter which, uint64_t by) {
    atomic_fetch_add_explicit(&counters->counter[which], by, memory_order_relaxed);
}

#endif

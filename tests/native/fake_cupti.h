/* Inside the fake CUPTI.  One shared object per release: the same C files linked with
 * that release's generated tables and a list of the functions that it has.
 *
 * Environment, read when the library is loaded:
 *   FAKE_CUPTI_VERSION=n        what cuptiGetVersion answers instead of the release's own
 *   FAKE_CUPTI_PER_THREAD=0|1   a buffer per thread (default from 13.0 on) or one for all
 *   FAKE_CUPTI_LATE_MS=n        kernels, copies and sets complete n ms after their launch
 *   FAKE_CUPTI_SLOW_MS=n        to hand a buffer over takes so long
 *   FAKE_CUPTI_DROP_EVERY=n     every n-th record is dropped
 *   FAKE_CUPTI_UNKNOWN_EVERY=n  after n records comes one of a kind that no client knows
 *   FAKE_CUPTI_UNKNOWN=step|refuse  whether cuptiActivityGetNextRecord steps over it
 *   FAKE_CUPTI_OTHER_CLIENT=1   another client has subscribed already
 *   FAKE_CUPTI_FAIL=f=c,f:a=c   function f (when its first argument is a) returns code c
 *   FAKE_CUPTI_CORRELATION=n    first correlation id
 *   FAKE_CUPTI_STUCK=n          from the n-th call on, all have its correlation: it was not left
 *   FAKE_CUPTI_NAMES=moving     kernel names lie in memory that is reused with other names
 *                               once the buffer that points there was handed over
 *   FAKE_CUPTI_GRAPH_EVERY=n    every n-th launch is that of a graph
 *   FAKE_CUPTI_GRAPH_NODES=n    of n kernels; 3
 *   FAKE_CUPTI_POOL=n           a device buffer of the default size holds n records of graph
 *                               nodes; those that find no room have start = end = 0
 *   FAKE_CUPTI_DEVICES=n        streams are spread over n devices
 *   FAKE_CUPTI_AT_EXIT=1        buffers that are left are handed over while the process exits
 *   FAKE_CUPTI_CHECK_ZERO=0     do not check that ZEROED_OUT buffers are zero
 *   FAKE_CUPTI_PLAY=file        recorded buffers, played by fakePlay()
 *   FAKE_CUPTI_PLAY_ALL=1       play records of kinds and callback ids that are not enabled too
 *   FAKE_CUPTI_LOG=folder       what was emitted: sums in PID.N.counters
 *   FAKE_CUPTI_LOG_ROWS=1       and each record that was handed over: PID.N.rows */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include "fake_cuda.h"
#include "fake_graphs.h"
#include "fake_nvtx.h"

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
    NOT_COMPATIBLE = 14,
    NOT_INITIALIZED = 15,
    QUEUE_EMPTY = 18,
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
    KIND_EXTERNAL_CORRELATION = 39,
    KIND_MEMORY2 = 49,
    KIND_GRAPH_TRACE = 51,
    KIND_FUTURE = 60, /* stands for what a later CUPTI may bring */
    KINDS = 64,
};

#define FUTURE_STRIDE 72u
#define MAX_STRIDE 400u
#define VARIANTS 16u
#define MAX_CBIDS 1024u
#define DOMAINS 7u /* of callbacks */
#define MAX_FIELDS 64u
#define MAX_SUBSCRIBERS 32u

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
struct field_fact { /* of a user-defined record; `from` and `at` tell where its value lies */
    uint32_t kind;
    int id;
    const char *member, *from;
    uint16_t at, size, width; /* in the record of the release; in a user-defined one */
};
struct release {
    const char *name;
    uint32_t api;
    const struct layout *layouts;
    uint32_t layout_count;
    const struct struct_size *sizes;
    uint32_t size_count;
    const struct field_fact *fields;
    uint32_t field_count;
    uint32_t runtime_size, driver_size; /* callback ids: 1 .. size-1 */
    const char *const *runtime_names, *const *driver_names;
};
extern const struct release fake_release;

struct options {
    uint32_t version, late_ms, slow_ms, drop_every, unknown_every, correlation, stuck, devices;
    uint32_t graph_every, graph_nodes, pool;
    bool per_thread, unknown_refuse, other_client, moving_names, at_exit, check_zero;
    bool play_all, log_rows, still_called;
    const char *play, *log, *fail;
};
extern struct options options;

/* fake_cupti_state.c */
extern atomic_bool closing, initialised; /* closing: it exits, or is a child of an initialised one */
extern atomic_bool calls_traced; /* API records were asked for: work has correlation ids */
int enter(const char *function, long argument); /* an error that was asked for, or 0 */
void attach_driver(void);                       /* start to receive events */
bool driver_is_initialised(void);
int driver_version(void);                       /* what cuDriverGetVersion answers; 0 without */
uint32_t process_id(void);
uint64_t now_ns(void);                          /* CLOCK_REALTIME */
uint64_t timestamp(void); /* for a record: of the clock that a client gave, or now_ns() */
void set_clock(uint64_t (*clock)(void)); /* NULL: the default */

/* What every function that clients look up begins with. */
#define API FAKE_EXPORT
#define ENTER_WITH(argument)                                                                       \
    do {                                                                                           \
        int entered = enter(__func__, (long)(argument));                                           \
        if (entered != OK)                                                                         \
            return entered;                                                                        \
    } while (0)
#define ENTER() ENTER_WITH(0)

/* fake_cupti_values.c */
enum field {
    F_KIND, F_START, F_END, F_COMPLETED, F_TIMESTAMP, F_CORRELATION, F_RUNTIME_CORRELATION,
    F_NAME, F_DOMAIN, F_DEVICE, F_CONTEXT, F_STREAM, F_BYTES, F_CBID, F_PROCESS, F_THREAD,
    F_FLAGS, F_ID, F_OBJECT_KIND, F_OBJECT_ID, F_OVERHEAD_KIND, F_GRAPH, F_GRAPH_NODE, F_COLOR,
    F_CATEGORY, F_PAYLOAD_KIND, F_PAYLOAD, F_EXTERNAL_KIND, F_EXTERNAL_ID, F_GRID,
    FIELDS,
};
struct writer { /* how the records of a kind look */
    uint32_t stride; /* 0: this release has no such record */
    int16_t offset[FIELDS]; /* -1: the record has no such member */
    uint8_t size[FIELDS];
    uint8_t templates[VARIANTS][MAX_STRIDE];
    uint32_t selected; /* members of a user-defined record; 0: the release's own record */
    struct member members[MAX_FIELDS];
};
struct field_entry { /* CUpti_ActivityFieldLayoutEntry */
    size_t struct_size;
    int id;
    size_t offset, size, alignment;
};
struct record_layout { /* CUpti_ActivityRecordLayout */
    size_t struct_size;
    struct field_entry *entries;
    size_t field_count, record_size;
};
struct record_set { /* all kinds as one subscriber gets them; never changed once it is in use */
    const struct writer *writers[KINDS];
    struct record_layout *layouts[KINDS];
};
struct record {
    uint8_t *at; /* NULL: it was dropped */
    const struct writer *writer;
};
extern struct record_set predefined;
void init_values(void);
uint32_t last_kind(void); /* that the release knows */
/* `set` with the records of a kind made of the selected fields; NULL if that cannot be. */
const struct record_set *select_fields(const struct record_set *set, uint32_t kind,
                                       const int *ids, size_t count);
uint32_t kind_of(const uint8_t *record);
uint32_t stride_of(const struct record_set *set, uint32_t kind); /* 0: there is no such record */
void put(struct record record, enum field field, uint64_t value);
uint64_t get(const struct record_set *set, const uint8_t *record, enum field field);

/* fake_cupti_buffers.c */
struct buffer {
    uint8_t *data;
    size_t size, valid, max_records, records;
    const struct record_set *set;
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
    struct subscriber *subscriber;
    uint64_t thread;
    pthread_mutex_t lock;
    struct buffer *current, *full;
    struct late *late; /* ring, oldest first */
    size_t late_head, late_count, late_size;
    uint64_t attempts, since_unknown, sequence[KINDS];
    bool owes_overhead; /* a buffer was requested since the last overhead record */
    struct queue *next;
};
struct request_info { /* CUpti_BufferCallbackRequestInfo */
    size_t struct_size;
};
struct complete_info { /* CUpti_BufferCallbackCompleteInfo */
    size_t struct_size;
    uint64_t thread;
    struct record_layout **layouts;
    size_t layout_count;
};
typedef void (*request_callback)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*request_callback_v2)(uint8_t **buffer, size_t *size, size_t *max_records,
                                    struct request_info *info);
typedef void (*complete_callback)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid);
typedef void (*complete_callback_v2)(uint8_t *buffer, size_t size, size_t valid,
                                     struct complete_info *info);
struct client { /* who gives buffers and gets them back: one of the two pairs */
    request_callback request;
    complete_callback complete;
    request_callback_v2 request_v2;
    complete_callback_v2 complete_v2;
    unsigned number;
};

void set_client(struct subscriber *subscriber, struct client client);
struct queue *queue_lock(struct subscriber *subscriber);
void queue_unlock(struct queue *queue);
/* Room for a record in the queue's current buffer, its kind set; NULL if it was dropped. */
uint8_t *reserve(struct queue *queue, const struct record_set *set, uint32_t kind,
                 uint32_t stride);
void retire_current(struct queue *queue);
void complete_later(struct queue *queue, const uint8_t *record, bool never);
int flush(bool forced);
size_t take_dropped(struct subscriber *subscriber);
void stop_worker(void);

/* fake_cupti_subscribers.c: number 0 is the process as version 1 of the API sees it, the
 * others are what cuptiSubscribe_v2 made. */
typedef void (*callback_function)(void *data, int domain, uint32_t cbid, const void *call);
enum { EXTERNAL_KINDS = 6, EXTERNAL_DEPTH = 16 };
struct subscriber {
    atomic_bool alive;
    char name[64];
    _Atomic(callback_function) callback;
    void *callback_data;
    atomic_uchar callback_on[DOMAINS][MAX_CBIDS]; /* cuptiEnableCallback */
    atomic_uchar kind_on[KINDS];                  /* cuptiActivityEnable */
    atomic_uchar cbid_on[3][MAX_CBIDS];           /* by enum fake_api */
    atomic_bool takes_functions[3];               /* single ones can be switched on */
    atomic_bool zeroed_out, system_thread_id, user_defined;
    atomic_uchar switches[8]; /* attributes 13 to 20 */
    _Atomic(const struct record_set *) set;
    _Atomic(struct client *) client;
    _Atomic(struct queue *) queues;
    struct queue common;
    atomic_size_t dropped;
};
extern struct subscriber subscribers[MAX_SUBSCRIBERS];
extern atomic_uint subscriber_count; /* up to the last that was ever in use */
void init_subscribers(void);
struct subscriber *find_subscriber(const void *handle); /* NULL: it is none of version 2 */
bool v2_in_use(void);
struct subscriber *only_v2(void); /* the one of version 2, if there is one alone */
bool multiple_subscribers(void); /* the first subscriber allowed others */
bool have_clients(void);
bool listened_to(uint32_t domain, uint32_t cbid);
bool has_kind(int kind);
void switch_kind(struct subscriber *subscriber, int kind, bool on);
int switch_function(struct subscriber *subscriber, int api, uint32_t cbid, bool on);

/* fake_cupti_attributes.c */
size_t *attribute(int number); /* of the process, in bytes or buffers */
/* Without a subscriber a switch is set for all. */
int set_attribute(struct subscriber *subscriber, int number, const size_t *size,
                  const void *value);
int get_attribute(struct subscriber *subscriber, int number, size_t *size, void *value);

/* fake_cupti_api.c: what cuptiActivityGetNextRecord does */
int next_record(const struct record_set *set, uint8_t *buffer, size_t valid, uint8_t **record);

/* fake_cupti_callbacks.c */
struct call { /* of the runtime, and the call of the driver inside it */
    uint32_t runtime, driver; /* callback ids; 0: none */
    uint32_t correlation;
    const char *symbol;
    int result;
    uint8_t arguments[2][128]; /* of the driver's call, and of the runtime's */
};
void call_back(const struct call *call, bool at_exit);
bool is_in_call(void); /* whether this thread is in a callback of a call */
bool is_in_entry(void); /* and that of its entry */
/* Callbacks of the domains that are no calls. */
void call_back_init_finished(void);
void call_back_resource(uint32_t cbid, uint64_t context, uint64_t stream, const void *descriptor);
void call_back_synchronize(uint64_t stream);
void call_back_nvtx(uint32_t cbid, const char *function, const void *arguments);
void call_back_state(uint32_t cbid, int result, const char *message);

/* fake_cupti_params.c */
void fill_arguments(struct call *call, const struct fake_event *event, bool graph);
/* Of the domains that are no calls; and what PC sampling finds of a launch. */
void call_back_besides(const struct fake_event *event, uint32_t correlation);

/* fake_cupti_graphs.c */
void tell_of_nodes(const struct fake_node_event *event);

/* fake_cupti_events.c */
bool has_work(void); /* whether anything was ever launched */
enum { MARKER_INSTANT = 1, MARKER_START = 2, MARKER_END = 4 };
struct marker {
    uint32_t flags, id;
    const char *name, *domain; /* live as long as the process */
    const struct nvtx_attributes *attributes; /* or NULL */
};
void on_event(const struct fake_event *event);
void on_marker(const struct marker *marker);
/* A new record of the kind in the queue's current buffer. */
struct record emit(struct queue *queue, uint32_t kind);

/* fake_cupti_pcs.c */
bool pcs_are_sampled(void);
void pcs_tell_of_module(uint64_t context);
void pcs_launched(uint32_t name_index, const char *name, uint32_t correlation);

/* fake_cupti_sass.c */
bool sass_is_counted(void);
void sass_launched(uint32_t name_index, const char *name);

/* fake_cupti_ranges.c */
#define RANGES_OWN ((uintptr_t)"WaitNs") /* the name of CUPTI's own kernel */
void ranges_launched(uint32_t name_index);
/* Whether the launch in hand is measured, and FAKE_RANGES_KERNELS says this of its records. */
bool ranges_cooperate(void);
bool ranges_mark(const char *how);
uint64_t launch_context(void); /* of this thread */

/* fake_cupti_external.c */
void emit_external(struct queue *queue, uint32_t correlation);
int push_external(struct subscriber *subscriber, uint32_t kind, uint64_t id);
int pop_external(struct subscriber *subscriber, uint32_t kind, uint64_t *id);

/* fake_cupti_names.c */
const char *name_for(struct buffer *buffer, uint32_t index, const char *stable);
void release_arena(struct buffer *buffer);

/* fake_cupti_play.c */
void play(struct subscriber *subscriber);

/* fake_cupti_log.c */
enum counter {
    C_REQUESTS, C_COMPLETIONS, C_NULL_REQUESTS, C_DIRTY_BUFFERS, C_MISALIGNED, C_FLUSH,
    C_FLUSH_FORCED, C_FLUSH_IN_CALLBACK, C_BYTES, C_NEXT_RECORD, C_ENABLES, C_CLIENTS,
    C_DROPPED_REPORTED, C_MAX_OUTSTANDING, C_OUTSTANDING, C_PLAYED, C_SWITCHES, C_DISABLES,
    C_SUBSCRIPTIONS, C_UNSUBSCRIPTIONS, C_REFUSED_SUBSCRIPTIONS, C_FINALIZES, C_CALLBACKS,
    C_UNTIMED, C_UNFENCED, C_POOL_LIMIT, C_DEVICE_BUFFER_SIZE, C_OUTSIDE, COUNTERS = 64,
};
struct counters {
    uint64_t magic, pid, version, ended;
    char release[32];
    _Atomic uint64_t counter[COUNTERS];
    _Atomic uint64_t made[KINDS], delivered[KINDS], dropped[KINDS], incomplete[KINDS];
    _Atomic uint64_t sum_start[KINDS], sum_end[KINDS], sum_correlation[KINDS];
    _Atomic uint64_t enabled[KINDS]; /* subscribers that want the kind now */
    _Atomic uint64_t client[8]; /* records handed to the n-th client that registered */
    _Atomic uint64_t api[3][MAX_CBIDS];
    _Atomic uint64_t names[FAKE_MAX_NAMES];
};
#define COUNTERS_MAGIC 0x32544e5543454b46ull /* "FKECUNT2" */
extern struct counters *counters;
void init_log(void);
void log_delivery(const struct buffer *buffer, unsigned client);

static inline void count(enum counter which, uint64_t by) {
    atomic_fetch_add_explicit(&counters->counter[which], by, memory_order_relaxed);
}

#endif

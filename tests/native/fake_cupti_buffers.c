/* The client's buffers: requested when a record needs room, handed back when full or
 * flushed.  A buffer with an incomplete record stays until its records are complete or
 * a forced flush takes it.  Locks: a queue's lock guards its buffers; no lock is held
 * while the completion callback runs. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local struct queue *own[MAX_SUBSCRIBERS];
static _Thread_local bool in_callback;

static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;
static bool work_waits, work_runs, work_stops, work_started;
static uint64_t work_rounds;
static pthread_t worker;

static void add_queue(struct subscriber *subscriber, struct queue *queue) {
    queue->subscriber = subscriber;
    queue->thread = (uint64_t)pthread_self();
    pthread_mutex_init(&queue->lock, NULL);
    queue->next = atomic_load(&subscriber->queues);
    while (!atomic_compare_exchange_weak(&subscriber->queues, &queue->next, queue)) {
    }
}

struct queue *queue_lock(struct subscriber *subscriber) {
    struct queue *queue = &subscriber->common;
    if (options.per_thread) {
        struct queue **mine = &own[subscriber - subscribers];
        if (*mine == NULL) {
            *mine = calloc(1, sizeof **mine);
            if (*mine == NULL)
                abort();
            add_queue(subscriber, *mine);
        }
        queue = *mine;
    }
    pthread_mutex_lock(&queue->lock);
    return queue;
}

void queue_unlock(struct queue *queue) {
    pthread_mutex_unlock(&queue->lock);
}

static void wake_worker(void) {
    pthread_mutex_lock(&work_lock);
    work_waits = true;
    pthread_cond_signal(&work_ready);
    pthread_mutex_unlock(&work_lock);
}

void retire_current(struct queue *queue) {
    struct buffer *buffer = queue->current;
    if (buffer == NULL)
        return;
    queue->current = NULL;
    buffer->next = NULL;
    struct buffer **last = &queue->full;
    while (*last != NULL)
        last = &(*last)->next;
    *last = buffer;
    wake_worker();
}

static bool is_zero(const uint8_t *data, size_t size) {
    return size == 0 || (data[0] == 0 && memcmp(data, data + 1, size - 1) == 0);
}

static struct buffer *request(struct queue *queue, const struct record_set *set) {
    struct subscriber *subscriber = queue->subscriber;
    struct client *to = atomic_load(&subscriber->client);
    uint8_t *data = NULL;
    size_t size = 0, max_records = 0;
    if (to == NULL)
        return NULL;
    count(C_REQUESTS, 1);
    if (to->request_v2 != NULL)
        to->request_v2(&data, &size, &max_records, &(struct request_info){sizeof(size_t)});
    else
        to->request(&data, &size, &max_records);
    if (data == NULL || size == 0) {
        count(C_NULL_REQUESTS, 1);
        if (options.version < 27) {
            fprintf(stderr, "fake CUPTI: NULL buffer, which CUPTI before 12.9 does not survive\n");
            abort();
        }
        return NULL;
    }
    if ((uintptr_t)data % 8 != 0)
        count(C_MISALIGNED, 1);
    if (!atomic_load(&subscriber->zeroed_out))
        memset(data, 0, size);
    else if (options.check_zero && !is_zero(data, size))
        count(C_DIRTY_BUFFERS, 1);
    struct buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL)
        abort();
    buffer->data = data;
    buffer->size = size;
    buffer->max_records = max_records;
    buffer->set = set;
    queue->owes_overhead = true;
    uint64_t out = atomic_fetch_add(&counters->counter[C_OUTSTANDING], 1) + 1;
    uint64_t most = atomic_load(&counters->counter[C_MAX_OUTSTANDING]);
    while (most < out &&
           !atomic_compare_exchange_weak(&counters->counter[C_MAX_OUTSTANDING], &most, out)) {
    }
    return buffer;
}

uint8_t *reserve(struct queue *queue, const struct record_set *set, uint32_t kind,
                 uint32_t stride) {
    atomic_fetch_add_explicit(&counters->made[kind], 1, memory_order_relaxed);
    struct buffer *buffer = queue->current;
    bool drop = options.drop_every != 0 && ++queue->attempts % options.drop_every == 0;
    if (!drop && buffer != NULL &&
        (buffer->size - buffer->valid < stride ||
         buffer->set != set ||
         (buffer->max_records != 0 && buffer->records == buffer->max_records)))
        retire_current(queue);
    if (!drop && queue->current == NULL)
        queue->current = request(queue, set);
    buffer = queue->current;
    if (drop || buffer == NULL || buffer->size - buffer->valid < stride) {
        atomic_fetch_add(&counters->dropped[kind], 1);
        atomic_fetch_add(&queue->subscriber->dropped, 1);
        return NULL;
    }
    uint8_t *record = buffer->data + buffer->valid;
    buffer->valid += stride;
    buffer->records++;
    memcpy(record, &kind, sizeof kind);
    return record;
}

size_t take_dropped(struct subscriber *subscriber) {
    size_t taken = atomic_exchange(&subscriber->dropped, 0);
    count(C_DROPPED_REPORTED, taken);
    return taken;
}

void complete_later(struct queue *queue, const uint8_t *record, bool never) {
    struct buffer *buffer = queue->current;
    buffer->incomplete++;
    if (never)
        return;
    buffer->pending++;
    if (queue->late_count == queue->late_size) {
        size_t size = queue->late_size != 0 ? queue->late_size * 2 : 1024;
        struct late *ring = malloc(size * sizeof *ring);
        if (ring == NULL)
            abort();
        for (size_t i = 0; i < queue->late_count; i++)
            ring[i] = queue->late[(queue->late_head + i) % queue->late_size];
        free(queue->late);
        queue->late = ring;
        queue->late_head = 0;
        queue->late_size = size;
    }
    size_t place = (queue->late_head + queue->late_count++) % queue->late_size;
    queue->late[place] = (struct late){buffer, (size_t)(record - buffer->data),
                                       now_ns() + options.late_ms * 1000000ull};
}

/* Give the records that are due their end.  One that a forced flush has already handed
 * out stays as it was. */
static void complete_due(struct queue *queue) {
    uint64_t now = queue->late_count != 0 ? now_ns() : 0;
    while (queue->late_count != 0 && queue->late[queue->late_head].due <= now) {
        struct late *late = &queue->late[queue->late_head];
        struct buffer *buffer = late->buffer;
        buffer->pending--;
        if (!buffer->delivered) {
            uint8_t *at = buffer->data + late->offset;
            struct record record = {at, buffer->set->writers[kind_of(at)]};
            uint64_t end = timestamp();
            put(record, F_END, end);
            put(record, F_COMPLETED, end);
            buffer->incomplete--;
        } else if (buffer->pending == 0 && buffer->handed_over) {
            free(buffer);
        }
        queue->late_head = (queue->late_head + 1) % queue->late_size;
        queue->late_count--;
    }
}

/* The buffers of a queue that may go, taken out of it. */
static struct buffer *detach(struct queue *queue, bool with_current, bool forced) {
    struct buffer *taken = NULL, **last = &taken;
    pthread_mutex_lock(&queue->lock);
    complete_due(queue);
    if (with_current && queue->current != NULL && queue->current->records != 0 &&
        (forced || queue->current->incomplete == 0))
        retire_current(queue);
    if (forced && options.still_called && queue->current == NULL) /* by its thread, meanwhile */
        queue->current = request(queue, atomic_load(&queue->subscriber->set));
    for (struct buffer **place = &queue->full; *place != NULL;) {
        struct buffer *buffer = *place;
        if (buffer->incomplete == 0 || forced) {
            *place = buffer->next;
            buffer->next = NULL;
            buffer->delivered = true;
            *last = buffer;
            last = &buffer->next;
        } else {
            place = &buffer->next;
        }
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

static void complete(struct queue *queue, struct client *to, struct buffer *buffer) {
    in_callback = true;
    if (to->complete_v2 != NULL) {
        /* One entry a kind, most of them empty; releases before 13.3 give none. */
        struct complete_info info = {.struct_size = sizeof info, .thread = queue->thread};
        if (fake_release.api >= 130300) {
            info.layouts = (struct record_layout **)buffer->set->layouts;
            info.layout_count = last_kind() + 1;
        }
        to->complete_v2(buffer->data, buffer->size, buffer->valid, &info);
    } else {
        to->complete(NULL, 0, buffer->data, buffer->size, buffer->valid);
    }
    in_callback = false;
}

/* A buffer is logged and handed over, or neither. */
static pthread_rwlock_t delivering = PTHREAD_RWLOCK_INITIALIZER;

API int fakeEndDeliveries(void) {
    return pthread_rwlock_wrlock(&delivering);
}

/* To whoever is registered now, though another may have given the buffer. */
static void deliver(struct queue *queue, struct buffer *buffer) {
    struct client *to = atomic_load(&queue->subscriber->client);
    while (buffer != NULL && to != NULL) {
        struct buffer *next = buffer->next;
        usleep(options.slow_ms * 1000);
        pthread_rwlock_rdlock(&delivering);
        log_delivery(buffer, to->number);
        count(C_COMPLETIONS, 1);
        count(C_BYTES, buffer->valid);
        complete(queue, to, buffer);
        pthread_rwlock_unlock(&delivering);
        atomic_fetch_sub(&counters->counter[C_OUTSTANDING], 1);
        release_arena(buffer);
        pthread_mutex_lock(&queue->lock);
        bool last = buffer->pending == 0;
        buffer->handed_over = true; /* unless it is the last use, complete_due frees it */
        pthread_mutex_unlock(&queue->lock);
        if (last)
            free(buffer);
        buffer = next;
        to = atomic_load(&queue->subscriber->client);
    }
}

static void hand_over(bool with_current, bool forced) {
    for (unsigned i = 0; i < atomic_load(&subscriber_count); i++) {
        struct queue *queue = atomic_load(&subscribers[i].queues);
        for (; queue != NULL; queue = queue->next)
            deliver(queue, detach(queue, with_current, forced));
    }
}

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&work_lock);
    while (!work_stops) {
        if (!work_waits && options.late_ms != 0) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 1000000;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&work_ready, &work_lock, &until);
        } else if (!work_waits) {
            pthread_cond_wait(&work_ready, &work_lock);
        }
        work_waits = false;
        work_runs = true;
        pthread_mutex_unlock(&work_lock);
        hand_over(false, false);
        pthread_mutex_lock(&work_lock);
        work_runs = false;
        work_rounds++;
        pthread_cond_broadcast(&work_done);
    }
    pthread_mutex_unlock(&work_lock);
    return NULL;
}

static void start_worker(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    work_started = pthread_create(&worker, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void stop_worker(void) {
    pthread_mutex_lock(&work_lock);
    bool started = work_started;
    work_stops = true;
    work_started = false;
    pthread_cond_signal(&work_ready);
    pthread_mutex_unlock(&work_lock);
    if (started && !pthread_equal(worker, pthread_self()))
        pthread_join(worker, NULL);
}

void set_client(struct subscriber *subscriber, struct client client) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_uint number;
    struct client *made = malloc(sizeof *made); /* never freed: a delivery may use it */
    if (made == NULL)
        abort();
    *made = client;
    made->number = atomic_fetch_add(&number, 1);
    if (subscriber->common.subscriber == NULL)
        add_queue(subscriber, &subscriber->common);
    atomic_store(&subscriber->client, made);
    count(C_CLIENTS, 1);
    pthread_once(&once, start_worker);
}

int flush(bool forced) {
    count(forced ? C_FLUSH_FORCED : C_FLUSH, 1);
    if (in_callback) { /* a real CUPTI may deadlock here */
        count(C_FLUSH_IN_CALLBACK, 1);
        return INVALID_OPERATION;
    }
    if (!have_clients())
        return INVALID_OPERATION;
    hand_over(true, forced);
    pthread_mutex_lock(&work_lock);
    for (uint64_t round = work_rounds; work_runs && work_rounds == round;)
        pthread_cond_wait(&work_done, &work_lock);
    pthread_mutex_unlock(&work_lock);
    return OK;
}

static uint64_t flushes_begun(void) {
    return atomic_load(&counters->counter[C_FLUSH]) +
           atomic_load(&counters->counter[C_FLUSH_FORCED]);
}

/* The client's thread flushes again and again: when the second one from now begins, the first,
 * which began after all that the caller did, has ended. */
API int fakeAwaitFlush(void) {
    uint64_t until = flushes_begun() + 2;
    for (unsigned turns = 0; flushes_begun() < until; turns++) {
        if (turns == 120000)
            return INVALID_OPERATION;
        usleep(1000);
    }
    return OK;
}

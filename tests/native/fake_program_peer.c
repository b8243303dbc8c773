/* Another profiler inside the test program, as Kineto is in PyTorch's: it comes while the
 * program runs, registers its own callbacks, enables kinds, and at the end flushes, disables
 * them and leaves. */
#define _GNU_SOURCE
#include "fake_program.h"

#include "fake_cuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OTHER_BYTES = 72 * 1024 }; /* no client of the tests uses this size */

static void *cupti, *handle;
static const struct settings *given;
static atomic_ulong own_buffers, foreign_buffers, records;
/* What the calls answered; -1: not called, -2: there is no such function. */
static int subscribed = -1, registered = -1, enabled = -1, flushed = -1, disabled = -1;
static int unsubscribed = -1, finalized = -1;
static char old_name[64];

static void *find(const char *name) {
    return dlsym(cupti, name);
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
    *size = OTHER_BYTES;
    *max_records = 0;
    *buffer = aligned_alloc(8, *size);
}

static void count_records(uint8_t *buffer, size_t valid) {
    int (*next)(uint8_t *, size_t, uint8_t **);
    int (*next_v2)(void *, uint8_t *, size_t, uint8_t **);
    uint8_t *record = NULL;
    *(void **)&next = find("cuptiActivityGetNextRecord");
    *(void **)&next_v2 = find("cuptiActivityGetNextRecord_v2");
    bool v2 = given->takeover_v2 != 0 && next_v2 != NULL;
    while ((v2 ? next_v2(handle, buffer, valid, &record) : next(buffer, valid, &record)) == 0)
        atomic_fetch_add(&records, 1);
}

/* Kineto complains of a buffer that it did not give, and leaves it alone. */
static void take(uint8_t *buffer, size_t size, size_t valid) {
    if (size != OTHER_BYTES) {
        atomic_fetch_add(&foreign_buffers, 1);
        return;
    }
    atomic_fetch_add(&own_buffers, 1);
    count_records(buffer, valid);
    free(buffer);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    (void)context, (void)stream;
    take(buffer, size, valid);
}

static void request_v2(uint8_t **buffer, size_t *size, size_t *max_records, void *info) {
    (void)info;
    request(buffer, size, max_records);
}

static void complete_v2(uint8_t *buffer, size_t size, size_t valid, void *info) {
    (void)info;
    take(buffer, size, valid);
}

static void listen(void *data, int domain, uint32_t cbid, const void *call) {
    (void)data, (void)domain, (void)cbid, (void)call;
}

static int subscribe(void) {
    struct {
        size_t struct_size;
        const char *name;
        char *old_name;
        size_t old_size;
        uint8_t allow_multiple, padding[7];
    } params = {sizeof params, "peer", old_name, sizeof old_name,
                (uint8_t)given->takeover_multiple, {0}};
    int (*v1)(void **, void *, void *);
    int (*v2)(void **, void *, void *, void *);
    *(void **)&v1 = find("cuptiSubscribe");
    *(void **)&v2 = find("cuptiSubscribe_v2");
    if (given->takeover_v2 == 0)
        return v1(&handle, (void *)listen, NULL);
    return v2 != NULL ? v2(&handle, (void *)listen, NULL, &params) : -2;
}

/* Ticks, as of a processor: far from nanoseconds since the epoch. */
static uint64_t ticks(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 3;
}

static void bring_clock(void) {
    int (*give)(uint64_t (*)(void));
    *(void **)&give = find("cuptiActivityRegisterTimestampCallback");
    give(ticks);
}

static int attach(void) {
    int (*v1)(void *, void *);
    int (*v2)(void *, void *, void *);
    *(void **)&v1 = find("cuptiActivityRegisterCallbacks");
    *(void **)&v2 = find("cuptiActivityRegisterCallbacks_v2");
    if (given->takeover_v2 == 0)
        return v1((void *)request, (void *)complete);
    return v2 != NULL ? v2(handle, (void *)request_v2, (void *)complete_v2) : -2;
}

/* The first error, or 0. */
static int switch_kinds(const char *name, const char *name_v2) {
    int (*v1)(int), first = -1;
    int (*v2)(void *, int, void *);
    *(void **)&v1 = find(name);
    *(void **)&v2 = find(name_v2);
    for (const char *list = given->takeover_kinds; list != NULL && *list != '\0';) {
        char *end;
        int kind = (int)strtol(list, &end, 10);
        int status = given->takeover_v2 == 0 ? v1(kind) : v2 != NULL ? v2(handle, kind, NULL) : -2;
        if (first <= 0)
            first = status;
        list = *end == ',' ? end + 1 : end;
    }
    return first;
}

static void report(void) {
    FILE *out = given->takeover_report != NULL ? fopen(given->takeover_report, "we") : NULL;
    if (out == NULL)
        return;
    fprintf(out, "{\"subscribe\": %d, \"register\": %d, \"enable\": %d, \"flush\": %d,\n",
            subscribed, registered, enabled, flushed);
    fprintf(out, "\"disable\": %d, \"unsubscribe\": %d, \"finalize\": %d,\n", disabled,
            unsubscribed, finalized);
    fprintf(out, "\"old_name\": \"%s\", \"own_buffers\": %lu, \"foreign_buffers\": %lu,\n",
            old_name, own_buffers, foreign_buffers);
    fprintf(out, "\"records\": %lu}\n", records);
    fclose(out);
}

static struct fake_client_state look(void) {
    struct fake_client_state state = {0};
    int (*ask)(struct fake_client_state *);
    *(void **)&ask = find("fakeClientState");
    ask(&state);
    return state;
}

static bool all_is_handed_over(void) {
    return look().waiting == 0;
}

static bool first_records(void) {
    struct fake_client_state state = look();
    return state.receiver != NULL && state.receiver != (const void *)complete &&
           state.records_kernels;
}

static uint64_t refused_before;
static bool first_noticed(void) {
    return first_records() || look().refused != refused_before;
}

/* The first client does its part in its own time; only a fault makes us wait in vain. */
static void wait_until(bool (*is_so)(void), const char *what) {
    for (long waited = 0; !is_so(); waited++) {
        if (waited == 60000) {
            fprintf(stderr, "fake_program: waited in vain until %s\n", what);
            exit(98);
        }
        sleep_ms(1);
    }
}

static bool find_cupti(void) {
    if (cupti == NULL)
        cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (cupti == NULL)
        cupti = dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
    return cupti != NULL;
}

void wait_for_records(void) {
    if (find_cupti())
        wait_until(all_is_handed_over, "all records are handed over");
}

void end_deliveries(void) {
    int (*end)(void);
    if (find_cupti()) {
        *(void **)&end = find("fakeEndDeliveries");
        end();
    }
}

/* Who is refused as a subscriber gives up. */
static void come(void) {
    bool must_subscribe = given->takeover_subscribe != 0 || given->takeover_v2 != 0;
    if (!find_cupti())
        return;
    if (given->takeover_waits != 0)
        wait_for_records();
    if (must_subscribe && (subscribed != 0 || unsubscribed == 0))
        subscribed = subscribe();
    if (!must_subscribe || subscribed == 0) {
        if (given->takeover_clock != 0)
            bring_clock();
        registered = attach();
        enabled = switch_kinds("cuptiActivityEnable", "cuptiActivityEnable_v2");
    }
    refused_before = look().refused;
    report();
}

static int call_with(const char *name, void *argument) {
    int (*function)(void *);
    *(void **)&function = find(name);
    return function(argument);
}

static void leave(void) {
    int (*flush)(uint32_t), (*finalize)(void);
    if (cupti == NULL || registered != 0)
        return;
    *(void **)&flush = find("cuptiActivityFlushAll");
    *(void **)&finalize = find("cuptiFinalize");
    flushed = flush(0);
    disabled = switch_kinds("cuptiActivityDisable", "cuptiActivityDisable_v2");
    if (given->takeover_unsubscribe != 0 && subscribed == 0)
        unsubscribed = call_with("cuptiUnsubscribe", handle);
    if (given->takeover_finalize != 0)
        finalized = finalize();
    report();
    if (given->takeover_waits != 0)
        wait_until(first_records, "the first client records again");
}

void peer_after_launch(const struct settings *settings, long launched) {
    long since = launched - settings->takeover_at;
    if (settings->takeover_at == 0 || since < 0)
        return;
    if (settings->takeover_every != 0 && since / settings->takeover_every < settings->takeover_times)
        since %= settings->takeover_every;
    if (since == 0) {
        given = settings;
        come();
    }
    if (settings->takeover_noticed != 0 && since == settings->takeover_noticed)
        wait_until(first_noticed, "the first client sees the other");
    if (settings->takeover_for != 0 && since == settings->takeover_for)
        leave();
}

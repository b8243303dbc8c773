/* The range profiler of the fake: each launch between Start and Stop is executed as often as the
 * configuration has passes, and is a range of its own.  The order of calls is enforced.
 *
 * Environment, read when it is needed:
 *   FAKE_RANGES_DROP_AT=n    CUPTI drops the n-th range
 *   FAKE_RANGES_OTHER_AT=n   another thread launches while the n-th range is measured
 *   FAKE_RANGES_CONTEXTS=n   threads launch in so many contexts by turns; 1
 *   FAKE_RANGES_AT_ONCE=n    what can be counted in a second context is asked when the first one
 *                            counts already, and Enable takes n more milliseconds to say that
 *   FAKE_RANGES_NAN=metric   the value of this metric is no number
 *   FAKE_RANGES_COOPERATIVE=n every n-th launch is a cooperative one
 *   FAKE_RANGES_APART=metric this metric takes three passes by itself
 *   FAKE_RANGES_KERNELS=how  "untimed": measured kernels have no times, as with CUPTI 13.0; "own":
 *                            behind each comes a kernel of CUPTI's own, as with 13.5
 *   FAKE_CUPTI_LOG=folder    PID.ranges: a line for each call, and for each launch
 *
 * A range has a duration of 1000 ns times one more than the number of the kernel's name, and half
 * the load; see metric_value().  Errors that a machine gives can be asked for with FAKE_CUPTI_FAIL,
 * such as cuptiRangeProfilerEnable=35. */
#define _GNU_SOURCE
#include "fake_pm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AUTO_RANGE = 1, USER_RANGE = 2, KERNEL_REPLAY = 2, USER_REPLAY = 3, CONTEXTS = 4 };

struct availability_params {
    struct params head;
    void *context;
    size_t size;
    uint8_t *image;
};
struct enable_params {
    struct params head;
    void *context;
    void *object;
    int cache_control;
};
struct object_params {
    struct params head;
    void *object;
};
struct push_params {
    struct params head;
    void *object;
    const char *name;
};
struct size_params {
    struct params head;
    void *object;
    const char **metrics;
    size_t count, ranges;
    uint32_t nodes;
    size_t size;
};
struct data_params {
    struct params head;
    void *object;
    size_t size;
    uint8_t *image;
};
struct config_params {
    struct params head;
    void *object;
    size_t config_size;
    const uint8_t *config;
    size_t size;
    uint8_t *image;
    int range, replay;
    size_t ranges;
    uint16_t levels, min_level;
    size_t pass;
    uint16_t target;
};
struct stop_params {
    struct params head;
    void *object;
    size_t pass, target;
    uint8_t all;
};
struct decode_params {
    struct params head;
    void *object;
    size_t dropped;
};
struct info_params {
    struct params head;
    const uint8_t *image;
    size_t size, ranges;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct profiler {
    bool enabled, configured, running, stopped;
    bool by_user, is_open;
    void *context;
    size_t slot_size, most;
    struct counter_data *image;
    uint64_t passes, pending, dropped;
    struct sample_slot slots[8];
} profilers[CONTEXTS];
static uint64_t launches; /* that were ranges */

static uint64_t option(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : 0;
}

static void note(const char *what, uint64_t a, uint64_t b) {
    char path[512];
    if (options.log == NULL)
        return;
    snprintf(path, sizeof path, "%s/%d.ranges", options.log, (int)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file >= 0) {
        dprintf(file, "%s %llu %llu\n", what, (unsigned long long)a, (unsigned long long)b);
        close(file);
    }
}

#define BEGIN(params, ...)                                                                         \
    ENTER();                                                                                       \
    if (!is_params(params, (const struct params_size[]){__VA_ARGS__, {0, 0}}))                     \
        return INVALID_PARAMETER;                                                                  \
    if (!profiler_initialized())                                                                   \
        return NOT_INITIALIZED
#define PROFILER(params)                                                                           \
    struct profiler *profiler = (params)->object;                                                  \
    if (profiler < profilers || profiler >= profilers + CONTEXTS || !profiler->enabled)            \
    return INVALID_OPERATION

bool ranges_are_measured(void) {
    bool any = false;
    for (unsigned i = 0; i < CONTEXTS; i++)
        any = any || profilers[i].enabled;
    return any;
}

/* A launch adds to the range that is open, or is one. */
static void add_range(struct profiler *profiler, uint32_t name) {
    if (profiler->by_user) {
        if (profiler->is_open && profiler->pending > 0)
            profiler->slots[profiler->pending - 1].end += 1000u * (name + 1);
        return;
    }
    if (profiler->pending < profiler->most)
        profiler->slots[profiler->pending++] = (struct sample_slot){0, 1000u * (name + 1), 0.5};
    else
        profiler->dropped++;
}

uint64_t launch_context(void) {
    static _Thread_local uint64_t context;
    static _Atomic uint64_t threads;
    uint64_t contexts = option("FAKE_RANGES_CONTEXTS");
    if (context == 0)
        context = contexts > 1 ? 1 + threads++ % contexts : 1;
    return context;
}

void ranges_launched(uint32_t name_index) {
    pthread_mutex_lock(&lock);
    struct profiler *profiler = profilers;
    while (profiler < profilers + CONTEXTS - 1 && (uintptr_t)profiler->context != launch_context())
        profiler++;
    if (profiler->enabled && profiler->running && (uintptr_t)profiler->context == launch_context()) {
        launches++;
        if (option("FAKE_RANGES_OTHER_AT") == launches)
            add_range(profiler, name_index + 1);
        if (option("FAKE_RANGES_DROP_AT") == launches)
            profiler->dropped++;
        else
            add_range(profiler, name_index);
        note("launch", name_index, profiler->passes);
    }
    pthread_mutex_unlock(&lock);
}

bool ranges_cooperate(void) {
    static _Atomic uint64_t made;
    uint64_t every = option("FAKE_RANGES_COOPERATIVE");
    return every != 0 && atomic_fetch_add(&made, 1) % every == every - 1;
}

bool ranges_mark(const char *how) {
    const char *wanted = getenv("FAKE_RANGES_KERNELS");
    bool is_measured = false;
    if (wanted == NULL || strcmp(wanted, how) != 0)
        return false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < CONTEXTS; i++)
        is_measured = is_measured || profilers[i].running;
    pthread_mutex_unlock(&lock);
    return is_measured;
}

/* For records of kernels that run beside others CUPTI adds instructions to them, which are counted:
 * seen on an H200, eight a warp, in one of the passes. */
double range_value(const char *metric, double value) {
    bool is_beside = atomic_load(&subscribers[0].kind_on[KIND_CONCURRENT_KERNEL]);
    if (strstr(metric, "inst_") != NULL && is_beside)
        value += 8;
    const char *bad = getenv("FAKE_RANGES_NAN");
    return bad != NULL && strcmp(bad, metric) == 0 ? strtod("nan", NULL) : value;
}

/* At most five seconds: the first one may have failed. */
static void wait_for_the_first(void *context) {
    static _Atomic(void *) first;
    void *none = NULL;
    if (option("FAKE_RANGES_AT_ONCE") == 0)
        return;
    atomic_compare_exchange_strong(&first, &none, context);
    for (int i = 0; i < 5000 && atomic_load(&first) != context && !ranges_are_measured(); i++)
        usleep(1000);
}

API int cuptiProfilerGetCounterAvailability(struct availability_params *params);
API int cuptiProfilerGetCounterAvailability(struct availability_params *params) {
    BEGIN(params, {0, 40});
    if (params->context == NULL)
        return INVALID_PARAMETER;
    wait_for_the_first(params->context);
    if (ranges_are_measured()) /* as CUPTI may */
        return INVALID_OPERATION;
    struct availability image = {AVAILABILITY_MAGIC, fake_has_links()};
    if (params->image != NULL && params->size < sizeof image)
        return SIZE_NOT_SUFFICIENT;
    if (params->image != NULL)
        memcpy(params->image, &image, sizeof image);
    params->size = sizeof image;
    return OK;
}

API int cuptiRangeProfilerEnable(struct enable_params *params);
API int cuptiRangeProfilerEnable(struct enable_params *params) {
    BEGIN(params, {24, 32}, {130400, 36});
    if (params->context == NULL)
        return INVALID_PARAMETER;
    if (pcs_are_sampled())
        return HARDWARE_BUSY;
    int cache = params->head.size == 36 ? params->cache_control : 0;
    if (cache < 0 || cache > 2)
        return INVALID_PARAMETER;
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (profilers[i].enabled && profilers[i].context == params->context)
            return INVALID_OPERATION;
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (!profilers[i].enabled) {
            profilers[i] = (struct profiler){.enabled = true, .context = params->context};
            params->object = &profilers[i];
            note("enable", (uint64_t)cache, 0);
            usleep((useconds_t)option("FAKE_RANGES_AT_ONCE") * 1000);
            return OK;
        }
    return MAX_LIMIT_REACHED;
}

API int cuptiRangeProfilerDisable(struct object_params *params);
API int cuptiRangeProfilerDisable(struct object_params *params) {
    BEGIN(params, {24, 24});
    PROFILER(params);
    profiler->enabled = false;
    note("disable", 0, 0);
    return OK;
}

API int cuptiRangeProfilerGetCounterDataSize(struct size_params *params);
API int cuptiRangeProfilerGetCounterDataSize(struct size_params *params) {
    BEGIN(params, {24, 64});
    PROFILER(params);
    if (params->count == 0 || params->ranges == 0 || params->nodes < params->ranges)
        return INVALID_PARAMETER;
    for (size_t i = 0; i < params->count; i++)
        if (!is_metric(fake_chip(), params->metrics[i]))
            return INVALID_METRIC_NAME;
    profiler->slot_size = sample_bytes(params->metrics, params->count);
    profiler->most = params->ranges < 8 ? params->ranges : 8;
    params->size = sizeof(struct counter_data) + params->ranges * profiler->slot_size;
    return OK;
}

API int cuptiRangeProfilerCounterDataImageInitialize(struct data_params *params);
API int cuptiRangeProfilerCounterDataImageInitialize(struct data_params *params) {
    BEGIN(params, {24, 40});
    PROFILER(params);
    struct counter_data head = {COUNTER_DATA_MAGIC, profiler->slot_size, profiler->most, 0, 0};
    if (params->image == NULL || profiler->slot_size == 0 ||
        params->size < sizeof head + profiler->most * profiler->slot_size)
        return INVALID_PARAMETER;
    memset(params->image, 0, params->size);
    memcpy(params->image, &head, sizeof head);
    return OK;
}

API int cuptiRangeProfilerSetConfig(struct config_params *params);
API int cuptiRangeProfilerSetConfig(struct config_params *params) {
    BEGIN(params, {24, 90});
    PROFILER(params);
    const struct config *config = (const void *)params->config;
    struct counter_data *image = (void *)params->image;
    if (config == NULL || params->config_size < sizeof *config || config->magic != CONFIG_MAGIC ||
        config->profiler_type != 0 || image == NULL || image->magic != COUNTER_DATA_MAGIC ||
        params->size < sizeof *image ||
        !((params->range == AUTO_RANGE && params->replay == KERNEL_REPLAY) ||
          ((params->range == AUTO_RANGE || params->range == USER_RANGE) &&
           params->replay == USER_REPLAY && config->passes == 1 && params->target == 1)) ||
        params->levels != 1 || params->min_level != 1 ||
        params->ranges == 0)
        return INVALID_PARAMETER;
    if (profiler->running)
        return INVALID_OPERATION;
    profiler->image = image;
    profiler->passes = config->passes;
    profiler->configured = true;
    profiler->by_user = params->range == USER_RANGE;
    return OK;
}

API int cuptiRangeProfilerPushRange(struct push_params *params);
API int cuptiRangeProfilerPushRange(struct push_params *params) {
    BEGIN(params, {24, 32});
    PROFILER(params);
    if (!profiler->running || !profiler->by_user || profiler->is_open || params->name == NULL ||
        profiler->pending == profiler->most)
        return INVALID_OPERATION;
    profiler->is_open = true;
    profiler->slots[profiler->pending++] = (struct sample_slot){0, 0, 0.5};
    note("push", 0, 0);
    return OK;
}

API int cuptiRangeProfilerPopRange(struct object_params *params);
API int cuptiRangeProfilerPopRange(struct object_params *params) {
    BEGIN(params, {24, 24});
    PROFILER(params);
    if (!profiler->is_open)
        return INVALID_OPERATION;
    profiler->is_open = false;
    note("pop", 0, 0);
    return OK;
}

API int cuptiRangeProfilerStart(struct object_params *params);
API int cuptiRangeProfilerStart(struct object_params *params) {
    BEGIN(params, {24, 24});
    PROFILER(params);
    if (!profiler->configured || profiler->running)
        return INVALID_OPERATION;
    profiler->running = true;
    profiler->stopped = false;
    profiler->pending = profiler->dropped = 0;
    note("start", 0, 0);
    return OK;
}

API int cuptiRangeProfilerStop(struct stop_params *params);
API int cuptiRangeProfilerStop(struct stop_params *params) {
    BEGIN(params, {24, 41});
    PROFILER(params);
    if (!profiler->running)
        return INVALID_OPERATION;
    profiler->running = false;
    profiler->stopped = true;
    params->all = 1;
    note("stop", 0, 0);
    return OK;
}

API int cuptiRangeProfilerDecodeData(struct decode_params *params);
API int cuptiRangeProfilerDecodeData(struct decode_params *params) {
    BEGIN(params, {24, 32});
    PROFILER(params);
    if (!profiler->stopped)
        return INVALID_OPERATION;
    struct counter_data *image = profiler->image;
    for (uint64_t i = 0; i < profiler->pending; i++)
        memcpy((uint8_t *)(image + 1) + i * image->slot_size, &profiler->slots[i],
               sizeof profiler->slots[i]);
    image->populated = image->completed = profiler->pending;
    params->dropped = profiler->dropped;
    note("decode", profiler->pending, profiler->dropped);
    return OK;
}

API int cuptiRangeProfilerGetCounterDataInfo(struct info_params *params);
API int cuptiRangeProfilerGetCounterDataInfo(struct info_params *params) {
    BEGIN(params, {24, 40});
    const struct counter_data *image = (const void *)params->image;
    if (image == NULL || params->size < sizeof *image || image->magic != COUNTER_DATA_MAGIC)
        return INVALID_PARAMETER;
    params->ranges = image->completed;
    return OK;
}

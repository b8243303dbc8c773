/*
 * A libcupti.so.13 for the computing driver: records of CUPTI 13.0 for what the driver did.  It
 * is small and slow and fails at nothing; the fakes that stress a client are elsewhere.
 *
 * FAKE_CUPTI_FORGET   drop every n-th kernel record without a word, so that a check can notice
 */
#define _GNU_SOURCE
#include "fake_trace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*request_callback)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*complete_callback)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

enum { KIND_DEVICE = 8, KIND_CONTEXT = 9, KINDS = 64, MAX_LIMIT_REACHED = 12, INVALID_PARAMETER = 1 };

static const uint32_t strides[KINDS] = {
    [KIND_MEMCPY] = 96, [KIND_MEMSET] = 88, [KIND_DRIVER] = 40, [5] = 40, [KIND_DEVICE] = 184,
    [KIND_CONTEXT] = 32, [KIND_KERNEL] = 216, [12] = 56, [13] = 40,
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static request_callback request;
static complete_callback complete;
static uint8_t *buffer;
static size_t size, used;
static uint8_t enabled[KINDS];
static uint32_t correlation;
static uint64_t kernels;

static void *take(uint32_t kind)
{
    if (!enabled[kind])
        return NULL;
    if (buffer != NULL && used + strides[kind] > size) {
        complete(NULL, 0, buffer, size, used);
        buffer = NULL;
    }
    if (buffer == NULL) {
        size_t records = 0;
        used = 0;
        request(&buffer, &size, &records);
    }
    uint8_t *record = buffer + used;
    memset(record, 0, strides[kind]);
    memcpy(record, &kind, sizeof kind);
    used += strides[kind];
    return record;
}

#define PUT(record, offset, type, value) (*(type *)(void *)((uint8_t *)(record) + (offset)) = (type)(value))

static void device_and_context(void)
{
    static const char name[] = "Fake GPU 0";
    uint8_t *device = take(KIND_DEVICE), *context;
    if (device != NULL) {
        for (int i = 0; i < 16; i++)
            device[120 + i] = (uint8_t)i;
        PUT(device, 136, const char *, name);
    }
    context = take(KIND_CONTEXT);
    if (context != NULL)
        PUT(context, 4, uint32_t, 1);
}

static void work_record(const struct fake_work *work)
{
    static long forget = -1;
    if (forget < 0)
        forget = getenv("FAKE_CUPTI_FORGET") != NULL ? atol(getenv("FAKE_CUPTI_FORGET")) : 0;
    if (work->kind == KIND_KERNEL && forget > 0 && ++kernels % (uint64_t)forget == 0)
        return;
    uint8_t *record = take(work->kind);
    if (record == NULL)
        return;
    PUT(record, work->kind == KIND_KERNEL ? 48 : 40, uint32_t, work->stream);
    PUT(record, 16, uint64_t, work->begin_ns);
    PUT(record, 24, uint64_t, work->end_ns);
    if (work->kind == KIND_KERNEL) {
        PUT(record, 44, uint32_t, 1);
        PUT(record, 52, uint32_t, work->grid);
        PUT(record, 92, uint32_t, correlation);
        PUT(record, 104, const char *, work->name);
        PUT(record, 144, uint64_t, work->node);
        PUT(record, 156, uint32_t, work->node != 0);
        return;
    }
    PUT(record, 8, uint64_t, work->bytes);
    PUT(record, 36, uint32_t, 1);
    PUT(record, 44, uint32_t, correlation);
    PUT(record, 64, uint64_t, work->node);
    PUT(record, 72, uint32_t, work->node != 0);
    if (work->kind == KIND_MEMCPY)
        PUT(record, 4, uint8_t, work->copy_kind);
}

static void trace(uint32_t cbid, uint64_t begin, uint64_t end, const struct fake_work *work, uint32_t count)
{
    pthread_mutex_lock(&lock);
    if (request != NULL) {
        if (correlation++ == 0)
            device_and_context();
        uint8_t *call = take(KIND_DRIVER);
        if (call != NULL) {
            PUT(call, 4, uint32_t, cbid);
            PUT(call, 8, uint64_t, begin);
            PUT(call, 16, uint64_t, end);
            PUT(call, 24, uint32_t, getpid());
            PUT(call, 28, uint32_t, gettid());
            PUT(call, 32, uint32_t, correlation);
        }
        for (uint32_t i = 0; i < count; i++)
            work_record(&work[i]);
    }
    pthread_mutex_unlock(&lock);
}

int cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return 0;
}

int cuptiActivityRegisterCallbacks(request_callback first, complete_callback second)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void (*set)(fake_tracer) = (void (*)(fake_tracer))dlsym(driver, "fake_set_tracer");
    request = first;
    complete = second;
    set(trace);
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    enabled[kind % KINDS] = 1;
    return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
    enabled[kind % KINDS] = 0;
    return 0;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    pthread_mutex_lock(&lock);
    uint8_t *full = buffer;
    size_t full_size = size, valid = used;
    buffer = NULL;
    if (full != NULL)
        complete(NULL, 0, full, full_size, valid);
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *start, size_t valid, uint8_t **record)
{
    uint8_t *next = start;
    if (*record != NULL) {
        uint32_t kind;
        memcpy(&kind, *record, sizeof kind);
        next = *record + strides[kind % KINDS];
    }
    if (next >= start + valid)
        return MAX_LIMIT_REACHED;
    *record = next;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    *dropped = 0;
    return 0;
}

int cuptiActivitySetAttribute(uint32_t attribute, size_t *length, void *value)
{
    (void)attribute;
    (void)length;
    (void)value;
    return 0;
}

int cuptiGetResultString(int code, const char **text)
{
    *text = code == 0 ? "CUPTI_SUCCESS" : "CUPTI_ERROR";
    return 0;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
    static const struct { uint32_t cbid; const char *name; } names[] = {
        {220, "cuMemsetD32Async"}, {277, "cuMemcpyHtoDAsync_v2"}, {279, "cuMemcpyDtoHAsync_v2"},
        {281, "cuMemcpyDtoDAsync_v2"}, {307, "cuLaunchKernel"}, {514, "cuGraphLaunch"}};
    for (size_t i = 0; domain == 1 && i < sizeof names / sizeof *names; i++) {
        if (names[i].cbid == cbid) {
            *name = names[i].name;
            return 0;
        }
    }
    return INVALID_PARAMETER;
}

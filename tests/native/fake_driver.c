/* Stand-in for libcuda.so.1: loads the injected library as the real driver does and
 * passes the work of a program on to the fake CUPTIs in the process.
 *
 * Environment: CUDA_INJECTION64_PATH (NVIDIA's);
 * FAKE_DRIVER_VERSION (what cuDriverGetVersion answers; 13000), FAKE_DRIVER_INIT_ERROR
 * (what cuInit answers; 0), FAKE_DRIVER_DEVICES (1), FAKE_DRIVER_VERSION_RECORDED (0).
 */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, MAX_SINKS = 4 };

static _Atomic(fake_sink) sinks[MAX_SINKS];
static atomic_uint sink_count;
static pthread_once_t init_once = PTHREAD_ONCE_INIT;
static int init_result = NOT_INITIALIZED;
static atomic_bool ready, initialised; /* cuInit has begun; it is over */
static _Atomic(const char *) names[FAKE_MAX_NAMES];

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtol(text, NULL, 0) : otherwise;
}

/* A library that does not load is skipped without a word, and so is one without the
 * entry point: that is what the real driver does. */
static void inject(void) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (path == NULL || *path == '\0')
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return;
    int (*entry)(void);
    *(void **)&entry = dlsym(library, "InitializeInjection");
    if (entry != NULL)
        entry();
}

static void in_forked_child(void) {
    atomic_store(&ready, false);
    init_result = NOT_INITIALIZED;
}

static void initialize(void) {
    init_result = (int)setting("FAKE_DRIVER_INIT_ERROR", SUCCESS);
    if (init_result != SUCCESS)
        return;
    pthread_atfork(NULL, NULL, in_forked_child);
    atomic_store(&ready, true);
    inject();
    atomic_store(&initialised, true);
}

int cuInit(unsigned int flags) {
    if (flags != 0)
        return INVALID_VALUE;
    pthread_once(&init_once, initialize);
    return init_result;
}



/* With FAKE_DRIVER_VERSION_RECORDED=1 a call like any other, with its record: an injected
 * library may wait for that.  Otherwise none, so that records have the same numbers in
 * every run. */
int cuDriverGetVersion(int *version) {
    if (version == NULL)
        return INVALID_VALUE;
    *version = (int)setting("FAKE_DRIVER_VERSION", 13000);
    if (setting("FAKE_DRIVER_VERSION_RECORDED", 0))
        fake_driver_send(&(struct fake_event){.type = FAKE_CALL, .api = FAKE_API_DRIVER, .cbid = 2});
    return SUCCESS;
}

/* That of fake_cupti.h's only device, once a thread is in CUDA. */
int cuCtxGetCurrent(void **context) {
    if (context == NULL)
        return INVALID_VALUE;
    *context = atomic_load(&initialised) ? (void *)1 : NULL;
    return SUCCESS;
}

int cuDeviceGetCount(int *count) {
    if (!atomic_load(&ready))
        return NOT_INITIALIZED;
    *count = (int)setting("FAKE_DRIVER_DEVICES", 1);
    return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return atomic_load(&ready) ? SUCCESS : NOT_INITIALIZED;
}

int cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, (size_t)length, "Fake GPU %d", device);
    return atomic_load(&ready) ? SUCCESS : NOT_INITIALIZED;
}

/* GPU-fa4e0000-...-0001 for device 1. */
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    memset(uuid, 0, 16);
    uuid[0] = 0xfa;
    uuid[1] = 0x4e;
    uuid[15] = (unsigned char)device;
    return atomic_load(&ready) ? SUCCESS : NOT_INITIALIZED;
}

/* Each attribute has a value of its own, but for one that an older driver would not know. */
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = 1000 + attribute + 10000 * device;
    if (!atomic_load(&ready))
        return NOT_INITIALIZED;
    return attribute == 106 ? INVALID_VALUE : SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = ((size_t)64 << 30) + (size_t)device;
    return atomic_load(&ready) ? SUCCESS : NOT_INITIALIZED;
}

/* The program has used device 0 alone. */
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    *flags = 0;
    *active = device == 0;
    return atomic_load(&ready) ? SUCCESS : NOT_INITIALIZED;
}

/* The fake CUPTI counts contexts from 1. */
int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = (void *)(uintptr_t)(device + 1);
    return atomic_load(&ready) ? SUCCESS : NOT_INITIALIZED;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    return SUCCESS;
}

int fake_driver_is_initialised(void) {
    return atomic_load(&initialised);
}

int fake_driver_register_cupti(fake_sink sink) {
    unsigned place = atomic_fetch_add(&sink_count, 1);
    if (place >= MAX_SINKS) {
        atomic_fetch_sub(&sink_count, 1);
        return -1;
    }
    atomic_store(&sinks[place], sink);
    return 0;
}

/* Mangled names of several shapes, one as a compiler without mangling makes it, and
 * every 64th so long that it fits no small buffer. */
static char *make_name(uint32_t index) {
    char base[64], *name = NULL;
    const char *given = getenv("FAKE_KERNEL_NAME"); /* of all kernels, before their number */
    if (given != NULL && asprintf(&name, "%s_%u", given, index) >= 0)
        return name;
    int length = snprintf(base, sizeof base, "kernel_%u", index);
    int status;
    if (index % 64 == 63) {
        char *filler = malloc(3001);
        if (filler == NULL)
            abort();
        memset(filler, 'x', 3000);
        filler[3000] = '\0';
        status = asprintf(&name, "_Z%d%s_%sPfi", length + 3001, base, filler);
        free(filler);
    } else if (index % 4 == 0) {
        status = asprintf(&name, "_Z%d%sPfi", length, base);
    } else if (index % 4 == 1) {
        status = asprintf(&name, "_ZN4fake5space%d%sEPKfPfi", length, base);
    } else if (index % 4 == 2) {
        status = asprintf(&name, "_Z%d%sIfLi%uEEvPT_i", length, base, index);
    } else {
        status = asprintf(&name, "triton_poi_fused_%s", base);
    }
    if (status < 0)
        abort();
    return name;
}

const char *fake_kernel_name(uint32_t index) {
    index %= FAKE_MAX_NAMES;
    const char *name = atomic_load_explicit(&names[index], memory_order_acquire);
    if (name != NULL)
        return name;
    char *made = make_name(index);
    if (atomic_compare_exchange_strong(&names[index], &name, made))
        return made;
    free(made);
    return name;
}

int fake_driver_send(const struct fake_event *event) {
    if (!atomic_load_explicit(&ready, memory_order_relaxed))
        return NOT_INITIALIZED;
    unsigned count = atomic_load_explicit(&sink_count, memory_order_acquire);
    for (unsigned i = 0; i < count && i < MAX_SINKS; i++) {
        fake_sink sink = atomic_load_explicit(&sinks[i], memory_order_acquire);
        if (sink != NULL)
            sink(event);
    }
    return SUCCESS;
}

int fakeLaunch(uint32_t stream, uint32_t name_index, uint32_t flags) {
    struct fake_event event = {.type = FAKE_LAUNCH,
                               .stream = stream,
                               .name_index = name_index % FAKE_MAX_NAMES,
                               .flags = flags,
                               .text = fake_kernel_name(name_index)};
    fake_driver_capture(&event);
    return fake_driver_send(&event);
}

int fakeMemcpy(uint32_t stream, uint64_t bytes) {
    return fake_driver_send(&(struct fake_event){.type = FAKE_COPY, .stream = stream, .bytes = bytes});
}

int fakeMemset(uint32_t stream, uint64_t bytes) {
    return fake_driver_send(&(struct fake_event){.type = FAKE_SET, .stream = stream, .bytes = bytes});
}

int fakeMalloc(uint64_t bytes) {
    return fake_driver_send(&(struct fake_event){.type = FAKE_MALLOC, .bytes = bytes});
}

int fakeSynchronize(void) {
    return fake_driver_send(&(struct fake_event){.type = FAKE_SYNC});
}

int fakeCall(uint32_t api, uint32_t cbid) {
    return fake_driver_send(&(struct fake_event){.type = FAKE_CALL, .api = api, .cbid = cbid});
}

int fakePlay(void) {
    return fake_driver_send(&(struct fake_event){.type = FAKE_PLAY});
}

int fakeProfiler(int start) {
    return fake_driver_send(&(struct fake_event){.type = FAKE_PROFILER, .flags = start != 0});
}

/*
 * A libcuda.so.1 without a GPU, for the demo's workload: device memory is malloc'ed, work is
 * done at once, and a kernel is what its name says.  It does the arithmetic of the four demo
 * kernels from its own description of them, so that a wrong argument or a wrong order of
 * arguments gives a wrong result.
 *
 * FAKE_CUDA_DEVICES   how many devices there are (default 1)
 * FAKE_CUDA_FAIL      name of a function that returns CUDA_ERROR_UNKNOWN
 * FAKE_CUDA_WRONG     if set, saxpy is off by one
 *
 * Like a real driver it loads the library that CUDA_INJECTION64_PATH names, and it tells the
 * libcupti beside it what it did.
 */
#include "fake_trace.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int CUresult;
enum { OK = 0, INVALID_VALUE = 1, UNKNOWN = 999 };
enum operation { NOTHING, ADD, SAXPY, REDUCE, SPIN, COPY, SET };

enum { CBID_SET = 220, CBID_HTOD = 277, CBID_DTOH = 279, CBID_DTOD = 281, CBID_LAUNCH = 307, CBID_GRAPH = 514 };

struct work {
    enum operation operation;
    uint32_t cbid, grid;
    uint64_t u[4];
    float alpha;
    uint32_t n;
};
struct graph {
    struct work work[64];
    size_t count;
};
struct stream {
    struct graph *capture;
    uint32_t number;
};

static fake_tracer tracer;

void fake_set_tracer(fake_tracer function)
{
    tracer = function;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *const kernel_names[] = {
    [ADD] = "_ZN4demo10vector_addEPKfS1_Pfj", [SAXPY] = "_ZN4demo5saxpyIfEEvT_PKS1_PS1_j",
    [REDUCE] = "_ZN4demo10reduce_sumEPKfPfj", [SPIN] = "_ZN4demo4spinEmPm"};

#define FAIL_IF_ASKED                                                   \
    do {                                                                \
        const char *fail_ = getenv("FAKE_CUDA_FAIL");                   \
        if (fail_ != NULL && strcmp(fail_, __func__) == 0)              \
            return UNKNOWN;                                             \
    } while (0)

static void execute(const struct work *w)
{
    float *x = (float *)(uintptr_t)w->u[0], *y = (float *)(uintptr_t)w->u[1];
    switch (w->operation) {
    case ADD:
        for (uint32_t i = 0; i < w->n; i++)
            ((float *)(uintptr_t)w->u[2])[i] = x[i] + y[i];
        break;
    case SAXPY:
        for (uint32_t i = 0; i < w->n; i++)
            y[i] += w->alpha * x[i] + (getenv("FAKE_CUDA_WRONG") != NULL ? 1.0f : 0.0f);
        break;
    case REDUCE:
        for (uint32_t i = 0; i < w->n; i++)
            *y += x[i];
        break;
    case SPIN:
        *(uint64_t *)(uintptr_t)w->u[1] = w->u[0];
        break;
    case COPY:
        memcpy((void *)(uintptr_t)w->u[0], (const void *)(uintptr_t)w->u[1], w->u[2]);
        break;
    case SET:
        for (uint64_t i = 0; i < w->u[2]; i++)
            ((uint32_t *)(uintptr_t)w->u[0])[i] = (uint32_t)w->u[1];
        break;
    case NOTHING:
        break;
    }
}

/* Do work now, and say so in the terms of a trace. */
static struct fake_work perform(const struct stream *stream, const struct work *w, uint32_t node)
{
    struct fake_work done = {.stream = stream->number, .grid = w->grid, .node = node, .bytes = w->u[2]};
    done.kind = w->operation == COPY ? KIND_MEMCPY : w->operation == SET ? KIND_MEMSET : KIND_KERNEL;
    if (w->operation == SET)
        done.bytes = 4 * w->u[2];
    else if (w->operation == COPY)
        done.copy_kind = w->cbid == CBID_HTOD ? COPY_HTOD : w->cbid == CBID_DTOH ? COPY_DTOH : COPY_DTOD;
    else
        done.name = kernel_names[w->operation];
    done.begin_ns = now_ns();
    execute(w);
    done.end_ns = now_ns();
    return done;
}

static CUresult give(struct stream *stream, struct work work)
{
    struct fake_work done = {0};
    uint64_t begin = now_ns();
    if (stream == NULL)
        return INVALID_VALUE;
    bool now = stream->capture == NULL;
    if (now)
        done = perform(stream, &work, 0);
    else if (stream->capture->count < 64)
        stream->capture->work[stream->capture->count++] = work;
    if (tracer != NULL)
        tracer(work.cbid, begin, now_ns(), &done, now ? 1 : 0);
    return OK;
}

CUresult cuInit(unsigned flags)
{
    FAIL_IF_ASKED;
    static bool injected;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path != NULL && !injected ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*initialize)(void) = library == NULL ? NULL : (int (*)(void))dlsym(library, "InitializeInjection");
    injected = true;
    if (initialize != NULL)
        initialize();
    return flags == 0 ? OK : INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return OK;
}

CUresult cuDeviceGetCount(int *count)
{
    const char *devices = getenv("FAKE_CUDA_DEVICES");
    *count = devices == NULL ? 1 : atoi(devices);
    return OK;
}

CUresult cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return OK;
}

CUresult cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return OK;
}

CUresult cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(16 * device + i);
    return OK;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = (void *)0x1000;
    return OK;
}

CUresult cuCtxSetCurrent(void *context)
{
    return context == (void *)0x1000 ? OK : INVALID_VALUE;
}

CUresult cuCtxSynchronize(void)
{
    FAIL_IF_ASKED;
    return OK;
}

CUresult cuStreamSynchronize(struct stream *stream)
{
    return stream != NULL ? OK : INVALID_VALUE;
}

CUresult cuModuleLoadDataEx(void **module, const char *image, unsigned count, int *options, void **values)
{
    if (count != 2 || options[0] != 5 || options[1] != 6 || (uintptr_t)values[1] < 1024)
        return INVALID_VALUE;
    const char *fail = getenv("FAKE_CUDA_FAIL");
    if (fail != NULL && strcmp(fail, __func__) == 0) {
        snprintf(values[0], (uintptr_t)values[1], "ptxas error: no such instruction");
        return UNKNOWN;
    }
    *module = (void *)(uintptr_t)image;
    return strstr(image, ".visible .entry") != NULL ? OK : INVALID_VALUE;
}

CUresult cuModuleGetFunction(void **function, void *module, const char *name)
{
    static const struct { const char *part; enum operation operation; } kernels[] = {
        {"vector_add", ADD}, {"saxpy", SAXPY}, {"reduce_sum", REDUCE}, {"spin", SPIN}};
    (void)module;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strstr(name, kernels[i].part) != NULL) {
            *function = (void *)(uintptr_t)kernels[i].operation;
            return OK;
        }
    }
    return 500;
}

CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, struct stream *stream, void **arguments, void **extra)
{
    struct work work = {.operation = (enum operation)(uintptr_t)function, .cbid = CBID_LAUNCH, .grid = gx};
    FAIL_IF_ASKED;
    if (gx == 0 || gy != 1 || gz != 1 || bx != 256 || by != 1 || bz != 1 || shared != 0 || extra != NULL)
        return INVALID_VALUE;
    switch (work.operation) {
    case ADD:
        for (int i = 0; i < 3; i++)
            work.u[i] = *(uint64_t *)arguments[i];
        work.n = *(uint32_t *)arguments[3];
        break;
    case SAXPY:
        work.alpha = *(float *)arguments[0];
        work.u[0] = *(uint64_t *)arguments[1];
        work.u[1] = *(uint64_t *)arguments[2];
        work.n = *(uint32_t *)arguments[3];
        break;
    case REDUCE:
        work.n = *(uint32_t *)arguments[2];
        /* fallthrough */
    case SPIN:
        work.u[0] = *(uint64_t *)arguments[0];
        work.u[1] = *(uint64_t *)arguments[1];
        break;
    default:
        return INVALID_VALUE;
    }
    return give(stream, work);
}

CUresult cuStreamCreate(struct stream **stream, unsigned flags)
{
    static uint32_t streams = 13;
    *stream = flags == 1 ? calloc(1, sizeof **stream) : NULL;
    if (*stream == NULL)
        return INVALID_VALUE;
    (*stream)->number = streams++;
    return OK;
}

CUresult cuStreamGetId(struct stream *stream, unsigned long long *id)
{
    if (stream == NULL)
        return INVALID_VALUE;
    *id = stream->number;
    return OK;
}

CUresult cuMemAlloc_v2(unsigned long long *pointer, size_t size)
{
    *pointer = (uintptr_t)malloc(size);
    return OK;
}

CUresult cuMemAllocHost_v2(void **pointer, size_t size)
{
    *pointer = malloc(size);
    return OK;
}

CUresult cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t size, struct stream *stream)
{
    return give(stream, (struct work){.operation = COPY, .cbid = CBID_HTOD, .u = {to, (uintptr_t)from, size}});
}

CUresult cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t size, struct stream *stream)
{
    return give(stream, (struct work){.operation = COPY, .cbid = CBID_DTOH, .u = {(uintptr_t)to, from, size}});
}

CUresult cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t size, struct stream *stream)
{
    return give(stream, (struct work){.operation = COPY, .cbid = CBID_DTOD, .u = {to, from, size}});
}

CUresult cuMemsetD32Async(unsigned long long to, unsigned value, size_t words, struct stream *stream)
{
    return give(stream, (struct work){.operation = SET, .cbid = CBID_SET, .u = {to, value, words}});
}

CUresult cuStreamBeginCapture_v2(struct stream *stream, int mode)
{
    if (mode != 1)
        return INVALID_VALUE;
    stream->capture = calloc(1, sizeof *stream->capture);
    return OK;
}

CUresult cuStreamEndCapture(struct stream *stream, struct graph **graph)
{
    *graph = stream->capture;
    stream->capture = NULL;
    return OK;
}

CUresult cuGraphInstantiateWithFlags(struct graph **executable, struct graph *graph, unsigned long long flags)
{
    *executable = graph;
    return flags == 0 ? OK : INVALID_VALUE;
}

CUresult cuGraphLaunch(struct graph *graph, struct stream *stream)
{
    struct fake_work done[64];
    uint64_t begin = now_ns();
    for (uint32_t i = 0; i < graph->count; i++)
        done[i] = perform(stream, &graph->work[i], i + 1);
    if (tracer != NULL)
        tracer(CBID_GRAPH, begin, now_ns(), done, (uint32_t)graph->count);
    return OK;
}

CUresult cuGraphGetNodes(struct graph *graph, void **nodes, size_t *count)
{
    *count = graph->count;
    for (size_t i = 0; nodes != NULL && i < *count; i++)
        nodes[i] = &graph->work[i];
    return OK;
}

CUresult cuGraphNodeGetType(const struct work *node, int *type)
{
    *type = node->operation == COPY ? 1 : node->operation == SET ? 2 : 0;
    return OK;
}

CUresult cuGetErrorName(int code, const char **name)
{
    *name = code == UNKNOWN ? "CUDA_ERROR_UNKNOWN" : NULL;
    return code == UNKNOWN ? OK : INVALID_VALUE;
}

CUresult cuGetErrorString(int code, const char **text)
{
    *text = code == UNKNOWN ? "unknown error" : NULL;
    return code == UNKNOWN ? OK : INVALID_VALUE;
}

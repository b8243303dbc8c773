/* The arguments of calls as CUPTI hands them to callbacks, one struct a function, after the
 * declarations in generated_cuda_meta.h and generated_cuda_runtime_api_meta.h of CUPTI 13.5;
 * tests/contract/test_callback_facts.py compares them with the headers.  The program's fake calls have
 * fewer arguments, so the rest is made up of them as fake_cuda.h says. */
#include "fake_cupti.h"

#include <string.h>

struct cuLaunchKernel_params {
    void *f;
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    void *hStream;
    void **kernelParams, **extra;
};
struct cuMemcpyAsync_params {
    uint64_t dst, src;
    size_t ByteCount;
    void *hStream;
};
struct cuMemsetD8Async_params {
    uint64_t dstDevice;
    unsigned char uc;
    size_t N;
    void *hStream;
};
struct cuMemAlloc_v2_params {
    uint64_t *dptr;
    size_t bytesize;
};
struct cuGraphLaunch_params {
    void *hGraph, *hStream;
};
struct dim3 {
    unsigned int x, y, z;
};
struct cudaLaunchKernel_v7000_params {
    const void *func;
    struct dim3 gridDim, blockDim;
    void **args;
    size_t sharedMem;
    void *stream;
};
struct cudaMemcpyAsync_v3020_params {
    void *dst;
    const void *src;
    size_t count;
    int kind;
    void *stream;
};
struct cudaMemsetAsync_v3020_params {
    void *devPtr;
    int value;
    size_t count;
    void *stream;
};
struct cudaMalloc_v3020_params {
    void **devPtr;
    size_t size;
};
struct cudaGraphLaunch_v10000_params {
    void *graphExec, *stream;
};

_Static_assert(sizeof(struct cuLaunchKernel_params) <= sizeof((struct call *)0)->arguments[0], "room");
_Static_assert(sizeof(struct cudaLaunchKernel_v7000_params) <= sizeof((struct call *)0)->arguments[0],
               "room");

#define PUT(api, ...)                                                                              \
    do {                                                                                           \
        __VA_ARGS__;                                                                               \
        memcpy(call->arguments[api - 1], &made, sizeof made);                                      \
    } while (0)

static void launch(struct call *call, const struct fake_event *event, bool graph) {
    uint32_t x = FAKE_GRID_X(event), block = FAKE_BLOCK_X, bytes = FAKE_SHARED(event);
    void *stream = FAKE_STREAM_HANDLE(event), *f = stream;
    if (graph) {
        PUT(FAKE_API_DRIVER, struct cuGraphLaunch_params made = {f, stream});
        PUT(FAKE_API_RUNTIME, struct cudaGraphLaunch_v10000_params made = {f, stream});
        return;
    }
    PUT(FAKE_API_DRIVER, struct cuLaunchKernel_params made =
                             {f, x, 2, 3, block, 4, 1, bytes, stream, NULL, NULL});
    PUT(FAKE_API_RUNTIME, struct cudaLaunchKernel_v7000_params made =
                              {f, {x, 2, 3}, {block, 4, 1}, NULL, bytes, stream});
}

void fill_arguments(struct call *call, const struct fake_event *event, bool graph) {
    static uint64_t pointed_to;
    void *stream = FAKE_STREAM_HANDLE(event);
    size_t bytes = event->bytes;
    memset(call->arguments, 0, sizeof call->arguments);
    if (event->type == FAKE_LAUNCH) {
        launch(call, event, graph);
    } else if (event->type == FAKE_COPY) {
        PUT(FAKE_API_DRIVER,
            struct cuMemcpyAsync_params made = {FAKE_DST, FAKE_SRC, bytes, stream});
        PUT(FAKE_API_RUNTIME, struct cudaMemcpyAsync_v3020_params made =
                                  {(void *)FAKE_DST, (void *)FAKE_SRC, bytes, 2, stream});
    } else if (event->type == FAKE_SET) {
        PUT(FAKE_API_DRIVER,
            struct cuMemsetD8Async_params made = {FAKE_DST, FAKE_VALUE, bytes, stream});
        PUT(FAKE_API_RUNTIME, struct cudaMemsetAsync_v3020_params made =
                                  {(void *)FAKE_DST, FAKE_VALUE, bytes, stream});
    } else if (event->type == FAKE_MALLOC) {
        PUT(FAKE_API_DRIVER, struct cuMemAlloc_v2_params made = {&pointed_to, bytes});
        PUT(FAKE_API_RUNTIME,
            struct cudaMalloc_v3020_params made = {(void **)&pointed_to, bytes});
    }
}

void call_back_besides(const struct fake_event *event, uint32_t correlation) {
    static atomic_bool has_context;
    static atomic_uchar seen[1024];
    uint64_t stream = (uintptr_t)FAKE_STREAM_HANDLE(event);
    enum { CONTEXT_CREATED = 1, STREAM_CREATED = 3, STATE_ERROR = 2 };
    if (event->type == FAKE_LAUNCH && !(event->flags & FAKE_FLAG_CAPTURED))
        pcs_launched(event->name_index, event->text, correlation);
    if (event->type == FAKE_LAUNCH && !(event->flags & (FAKE_FLAG_CAPTURED | FAKE_FLAG_FAILS)))
        ranges_launched(event->name_index);
    if (event->type == FAKE_LAUNCH && !(event->flags & (FAKE_FLAG_CAPTURED | FAKE_FLAG_FAILS)))
        sass_launched(event->name_index, event->text);
    if (event->type <= FAKE_SET && !atomic_exchange(&has_context, true)) {
        call_back_init_finished();
        call_back_resource(CONTEXT_CREATED, 1, 0, NULL);
        pcs_tell_of_module(1);
    }
    if (event->type <= FAKE_SET && stream != 0 && event->stream < 1024 &&
        !atomic_exchange(&seen[event->stream], 1))
        call_back_resource(STREAM_CREATED, 1, stream, NULL);
    if (event->type == FAKE_SYNC)
        call_back_synchronize(0);
    if (event->flags & FAKE_FLAG_FAILS && event->type == FAKE_LAUNCH)
        call_back_state(STATE_ERROR, FAKE_FAILURE, "launch failed");
}

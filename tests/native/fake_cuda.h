/* What the fake driver, the fake CUPTI and the programs of the tests say to each other.
 *
 * The driver turns each call of a program into one event and hands it to every fake
 * CUPTI that has registered.  Nothing here is NVIDIA's interface except the names and
 * prototypes of the functions that real programs and injected libraries look up.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

enum fake_event_type {
    FAKE_LAUNCH = 1, /* a kernel: runtime call, driver call, kernel record */
    FAKE_COPY,       /* a copy: cudaMemcpyAsync */
    FAKE_SET,        /* a memset: cudaMemsetAsync */
    FAKE_CALL,       /* an API call without work on the device */
    FAKE_MALLOC,     /* cudaMalloc */
    FAKE_SYNC,       /* cudaDeviceSynchronize */
    FAKE_PROFILER, /* cudaProfilerStart (flags 1) or cudaProfilerStop (0) */
    FAKE_PLAY, /* play the recorded buffers of FAKE_CUPTI_PLAY */
};

#define FAKE_FLAG_ENDLESS 1u /* a kernel that never completes */
#define FAKE_FLAG_DRIVER 2u  /* launched through the driver API alone, as Triton does */
#define FAKE_FLAG_CAPTURED 8u /* into a graph: nothing runs */

#define FAKE_FLAG_FAILS 4u   /* the calls return FAKE_FAILURE, as callbacks see them */
#define FAKE_FAILURE 719

/* Arguments that fake calls do not have, as callbacks see them. */
#define FAKE_GRID_X(event) ((event)->name_index + 1)
#define FAKE_BLOCK_X 128u
#define FAKE_SHARED(event) (16 * (event)->stream)
#define FAKE_STREAM_HANDLE(event) ((void *)(uintptr_t)((event)->stream * 0x1000u))
#define FAKE_DST 0x7f0000001000u
#define FAKE_SRC 0x7f0000002000u
#define FAKE_VALUE 7

enum fake_api { FAKE_API_DRIVER = 1, FAKE_API_RUNTIME = 2 }; /* CUPTI's callback domains */

struct fake_event {
    uint32_t type;
    uint32_t stream;     /* 0, 1, ... as the program counts them */
    uint32_t name_index; /* number of the kernel's name */
    uint32_t flags;
    uint64_t bytes;
    const char *text; /* kernel name; lives as long as the process */
    uint32_t api;     /* of a FAKE_CALL */
    uint32_t cbid;    /* of a FAKE_CALL */
    const struct fake_node_event *nodes; /* of graphs: what the call does to them, in order */
    const struct fake_node *const *runs; /* those of a graph that is launched, then NULL */
};

typedef void (*fake_sink)(const struct fake_event *event);

/* The driver: NVIDIA's names. */
FAKE_EXPORT int cuInit(unsigned int flags);
FAKE_EXPORT int cuDriverGetVersion(int *version);
FAKE_EXPORT int cuCtxGetCurrent(void **context);
FAKE_EXPORT int cuDeviceGetCount(int *count);
FAKE_EXPORT int cuDeviceGet(int *device, int ordinal);
FAKE_EXPORT int cuDeviceGetName(char *name, int length, int device);
FAKE_EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
FAKE_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
FAKE_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
FAKE_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
FAKE_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
FAKE_EXPORT int cuDevicePrimaryCtxRelease_v2(int device);

/* The driver: ours.  Work before cuInit, or in a child forked after it, is error 3
 * (CUDA_ERROR_NOT_INITIALIZED), as with a real driver. */
FAKE_EXPORT int fakeLaunch(uint32_t stream, uint32_t name_index, uint32_t flags);
FAKE_EXPORT int fakeMemcpy(uint32_t stream, uint64_t bytes);
FAKE_EXPORT int fakeMemset(uint32_t stream, uint64_t bytes);
FAKE_EXPORT int fakeMalloc(uint64_t bytes);
FAKE_EXPORT int fakeSynchronize(void);
FAKE_EXPORT int fakeCall(uint32_t api, uint32_t cbid);
FAKE_EXPORT int fakePlay(void);
FAKE_EXPORT int fakeProfiler(int start);

/* CUDA graphs; see fake_graphs.h.  What a thread launches between Begin and End is captured. */
FAKE_EXPORT void *fakeGraphBegin(void);
FAKE_EXPORT void fakeGraphEnd(void);
FAKE_EXPORT void *fakeGraphCreate(void);
FAKE_EXPORT int fakeGraphAddKernel(void *graph, uint32_t name_index);
FAKE_EXPORT int fakeGraphAddChild(void *graph, void *child);
FAKE_EXPORT void *fakeGraphClone(void *graph);
FAKE_EXPORT void *fakeGraphInstantiate(void *graph);
FAKE_EXPORT int fakeGraphUpdate(void *executable, void *graph);
FAKE_EXPORT int fakeGraphLaunch(void *executable, uint32_t stream);

/* Between the parts of the driver: sends an event to every fake CUPTI; makes a launch one that is
 * captured, if its thread captures. */
int fake_driver_send(const struct fake_event *event);
int fake_driver_capture(struct fake_event *event);

/* For the fake CUPTI: receive events; 0, or -1 when there is no room. */
FAKE_EXPORT int fake_driver_register_cupti(fake_sink sink);
/* Whether cuInit is over: an injected library is loaded before. */
FAKE_EXPORT int fake_driver_is_initialised(void);
/* Name number `index`; every call gives the same pointer. */
FAKE_EXPORT const char *fake_kernel_name(uint32_t index);

#define FAKE_MAX_NAMES 4096

/* For the test program, of the fake CUPTI: how clients of version 1 stand, so that it can wait for
 * what one of them does. */
struct fake_client_state {
    const void *receiver; /* the callback that gets buffers now; NULL: there is none */
    uint64_t waiting;     /* buffers that were requested and not handed over */
    uint64_t refused;     /* subscriptions, up to now */
    int records_kernels;
};
FAKE_EXPORT int fakeClientState(struct fake_client_state *state);
/* Of it, too: from now on no buffer is handed over, and none is halfway.  A program that kills
 * itself would else do so between the log of a buffer and its callback, now and then. */
FAKE_EXPORT int fakeEndDeliveries(void);
/* Of it, too: waits until all that the program has done was flushed by the client's thread. */
FAKE_EXPORT int fakeAwaitFlush(void);

#endif

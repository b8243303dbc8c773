/* What the computing driver tells the tracing library beside it. */
#ifndef FAKE_TRACE_H
#define FAKE_TRACE_H

#include <stdint.h>

enum { COPY_HTOD = 1, COPY_DTOH = 2, COPY_DTOD = 8 };                  /* as CUPTI numbers them */
enum { KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_DRIVER = 4, KIND_KERNEL = 10 };

/* A piece of work that was done, and between which readings of CLOCK_REALTIME. */
struct fake_work {
    uint32_t kind, grid, stream, copy_kind;
    uint64_t bytes;
    const char *name;  /* of a kernel */
    uint32_t node;     /* number of its graph node, 0 outside graphs */
    uint64_t begin_ns, end_ns;
};

/* A call of the driver API, its callback id, and the work that it did. */
typedef void (*fake_tracer)(uint32_t cbid, uint64_t begin_ns, uint64_t end_ns, const struct fake_work *work,
                            uint32_t count);

void fake_set_tracer(fake_tracer tracer);

#endif

/* The smallest CUPTI client that can be injected: counts what it gets and says so in a
 * JSON file when the process ends.  It proves the fakes without any code of ours.
 *
 * TINY_OUT file; TINY_CUPTI soname; TINY_KINDS "5,10"; TINY_BYTES buffer size;
 * TINY_ZEROED 1: set ZEROED_OUT and give clean buffers, 2: set it and give dirty ones;
 * TINY_NULL_AFTER give NULL after n buffers; TINY_FLUSH_MS flush in a thread;
 * TINY_LAST_FLUSH 0|1|none, what to flush at exit; TINY_SUBSCRIBE 1; TINY_OFF "17,10"
 * runtime functions to switch off; TINY_BAD_FLUSH 1: flush inside the callback;
 * TINY_POOL_LIMIT number of device buffers; TINY_WRAP 1: put a function of its own before
 * CUPTI's nvtxRangePushA.
 */
#define _GNU_SOURCE
#include "fake_nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
enum { KINDS = 64 };

static int (*get_version)(uint32_t *);
static int (*register_callbacks)(void *, void *);
static int (*enable)(int);
static int (*flush_all)(uint32_t);
static int (*next_record)(uint8_t *, size_t, uint8_t **);
static int (*num_dropped)(void *, uint32_t, size_t *);
static int (*set_attribute)(int, size_t *, void *);
static int (*enable_runtime)(uint32_t, uint8_t);
static int (*subscribe)(void **, void *, void *);
static int (*struct_size)(int, uint32_t, size_t *);
static int (*callback_name)(int, uint32_t, const char **);
static int (*nvtx_initialize)(nvtx_get_export_table);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Buffers that the thread's flush has taken and not yet given are none of the last flush's. */
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
static uint64_t kinds[KINDS], stride[KINDS], buffers, bytes, dropped, refused, requests;
static uint64_t early_flush, bad_flush, lost_names;
static int (*cupti_push)(const char *);
static atomic_ulong wrapped;
static int register_result, subscribe_result, first_enable_error, nvtx_result = -1;

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtol(text, NULL, 0) : otherwise;
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
    long null_after = setting("TINY_NULL_AFTER", 0);
    pthread_mutex_lock(&lock);
    uint64_t number = ++requests;
    pthread_mutex_unlock(&lock);
    *buffer = NULL;
    *size = *max_records = 0;
    if (null_after != 0 && number > (uint64_t)null_after)
        return;
    *size = (size_t)setting("TINY_BYTES", 1 << 20);
    *buffer = aligned_alloc(8, *size);
    memset(*buffer, setting("TINY_ZEROED", 0) == 1 ? 0 : 0xFF, *size);
}

static void walk(uint8_t *buffer, size_t valid) {
    uint8_t *record = NULL, *before = NULL;
    uint32_t kind = 0, last = 0;
    int status;
    while ((status = next_record(buffer, valid, &record)) == 0) {
        memcpy(&kind, record, sizeof kind);
        kinds[kind]++;
        if (before != NULL)
            stride[last] = (uint64_t)(record - before);
        if (kind == 10) {
            const char *name;
            memcpy(&name, record + 104, sizeof name);
            lost_names += strstr(name, "kernel_") == NULL;
        }
        before = record;
        last = kind;
    }
    if (before != NULL && status == 12) /* MAX_LIMIT_REACHED */
        stride[last] = (uint64_t)(buffer + valid - before);
    refused += status == 21; /* INVALID_KIND */
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    (void)context, (void)stream, (void)size;
    size_t lost = 0;
    pthread_mutex_lock(&lock);
    if (setting("TINY_BAD_FLUSH", 0) != 0)
        bad_flush += flush_all(0) != 0;
    buffers++;
    bytes += valid;
    walk(buffer, valid);
    num_dropped(NULL, 0, &lost);
    dropped += lost;
    pthread_mutex_unlock(&lock);
    free(buffer);
}

static void report(void) {
    const char *last = getenv("TINY_LAST_FLUSH");
    pthread_mutex_lock(&flushing);
    if (last == NULL || strcmp(last, "none") != 0)
        flush_all((uint32_t)setting("TINY_LAST_FLUSH", 1));
    size_t lost = 0;
    num_dropped(NULL, 0, &lost);
    pthread_mutex_lock(&lock);
    uint32_t version = 0;
    get_version(&version);
    FILE *out = fopen(getenv("TINY_OUT"), "we");
    if (out == NULL)
        return;
    fprintf(out, "{\"version\": %u, \"buffers\": %lu, \"bytes\": %lu, \"dropped\": %lu,\n", version,
            buffers, bytes, dropped + lost);
    fprintf(out, "\"requests\": %lu, \"refused\": %lu, \"early_flush\": %lu, \"bad_flush\": %lu,\n",
            requests, refused, early_flush, bad_flush);
    fprintf(out, "\"register\": %d, \"subscribe\": %d, \"enable\": %d, \"nvtx\": %d,\n",
            register_result, subscribe_result, first_enable_error, nvtx_result);
    size_t size = 0;
    fprintf(out, "\"wrapped\": %lu,\n", wrapped);
    fprintf(out, "\"lost_names\": %lu, \"has_enable_runtime\": %d, \"struct_size\": %ld,\n",
            lost_names, enable_runtime != NULL,
            struct_size != NULL && struct_size(10, 0, &size) == 0 ? (long)size : -1L);
    const char *name = NULL;
    fprintf(out, "\"name_211\": \"%s\", \"records\": {",
            callback_name(2, 211, &name) == 0 ? name : "");
    const char *comma = "";
    for (int kind = 0; kind < KINDS; kind++) {
        if (kinds[kind] != 0) {
            fprintf(out, "%s\"%d\": [%lu, %lu]", comma, kind, kinds[kind], stride[kind]);
            comma = ", ";
        }
    }
    fprintf(out, "}}\n");
    fclose(out);
    pthread_mutex_unlock(&lock);
}

static void *flush_now_and_then(void *unused) {
    long pause = setting("TINY_FLUSH_MS", 0);
    for (;;) {
        nanosleep(&(struct timespec){pause / 1000, pause % 1000 * 1000000}, NULL);
        pthread_mutex_lock(&flushing);
        flush_all(0);
        pthread_mutex_unlock(&flushing);
    }
    return unused;
}

static void for_each(const char *list, void (*use)(long)) {
    while (list != NULL && *list != '\0') {
        char *end;
        use(strtol(list, &end, 10));
        list = *end == ',' ? end + 1 : end;
    }
}

static void enable_one(long kind) {
    int result = enable((int)kind);
    if (result != 0 && first_enable_error == 0)
        first_enable_error = result;
}

static void switch_off(long cbid) {
    if (enable_runtime != NULL)
        enable_runtime((uint32_t)cbid, 0);
}

static void open_cupti(void) {
    const char *name = getenv("TINY_CUPTI");
    void *cupti = dlopen(name != NULL ? name : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    if (cupti == NULL)
        return;
    *(void **)&get_version = dlsym(cupti, "cuptiGetVersion");
    *(void **)&register_callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
    *(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
    *(void **)&flush_all = dlsym(cupti, "cuptiActivityFlushAll");
    *(void **)&next_record = dlsym(cupti, "cuptiActivityGetNextRecord");
    *(void **)&num_dropped = dlsym(cupti, "cuptiActivityGetNumDroppedRecords");
    *(void **)&set_attribute = dlsym(cupti, "cuptiActivitySetAttribute");
    *(void **)&enable_runtime = dlsym(cupti, "cuptiActivityEnableRuntimeApi");
    *(void **)&subscribe = dlsym(cupti, "cuptiSubscribe");
    *(void **)&struct_size = dlsym(cupti, "cuptiActivityGetStructSize");
    *(void **)&callback_name = dlsym(cupti, "cuptiGetCallbackName");
    *(void **)&nvtx_initialize = dlsym(cupti, "cuptiNvtxInitialize2");
}

static int push(const char *text) {
    atomic_fetch_add(&wrapped, 1);
    return cupti_push(text);
}

static void wrap_push(nvtx_get_export_table get_export_table) {
    const struct nvtx_callbacks *callbacks = get_export_table(NVTX_ETID_CALLBACKS);
    nvtx_table table;
    unsigned size;
    if (callbacks->get_module_function_table(NVTX_MODULE_CORE, &table, &size) != 1 ||
        size <= NVTX_RangePushA)
        return;
    cupti_push = (int (*)(const char *))*table[NVTX_RangePushA];
    *table[NVTX_RangePushA] = (nvtx_function)push;
}

EXPORT int InitializeInjectionNvtx2(nvtx_get_export_table get_export_table);
EXPORT int InitializeInjectionNvtx2(nvtx_get_export_table get_export_table) {
    if (nvtx_initialize == NULL)
        open_cupti();
    nvtx_result = nvtx_initialize != NULL ? nvtx_initialize(get_export_table) : -1;
    if (nvtx_result == 0 && setting("TINY_WRAP", 0) != 0)
        wrap_push(get_export_table);
    return nvtx_result == 0;
}

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjection(void) {
    open_cupti();
    if (get_version == NULL || getenv("TINY_OUT") == NULL)
        return 0;
    early_flush = (uint64_t)flush_all(0);
    void *subscriber;
    if (setting("TINY_SUBSCRIBE", 0) != 0)
        subscribe_result = subscribe(&subscriber, NULL, NULL);
    uint8_t one = 1;
    if (setting("TINY_ZEROED", 0) != 0)
        set_attribute(5, &(size_t){1}, &one);
    size_t pool_limit = (size_t)setting("TINY_POOL_LIMIT", 0);
    if (pool_limit != 0)
        set_attribute(2, &(size_t){sizeof pool_limit}, &pool_limit);
    register_result = register_callbacks((void *)request, (void *)complete);
    const char *wanted = getenv("TINY_KINDS");
    for_each(wanted != NULL ? wanted : "5,10", enable_one);
    for_each(getenv("TINY_OFF"), switch_off);
    pthread_t thread;
    if (setting("TINY_FLUSH_MS", 0) != 0)
        pthread_create(&thread, NULL, flush_now_and_then, NULL);
    atexit(report);
    return 1;
}

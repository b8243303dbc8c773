/* The functions that clients look up.  Which of them a release exports is decided by the
 * list that it is linked with. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

#define API FAKE_EXPORT
#define ENTER_WITH(argument)                                                                       \
    do {                                                                                           \
        int entered = enter(__func__, (long)(argument));                                           \
        if (entered != OK)                                                                         \
            return entered;                                                                        \
    } while (0)
#define ENTER() ENTER_WITH(0)

enum { ATTRIBUTE_ZEROED_OUT = 5, ATTRIBUTE_PER_THREAD = 9, ATTRIBUTES = 11 };

static atomic_uintptr_t subscriber;

API int cuptiGetVersion(uint32_t *version);
API int cuptiGetVersion(uint32_t *version) {
    ENTER();
    if (version == NULL)
        return INVALID_PARAMETER;
    *version = options.version;
    return OK;
}

API int cuptiGetResultString(int result, const char **text);
API int cuptiGetResultString(int result, const char **text) {
    static const struct {
        int code;
        const char *text;
    } known[] = {
        {OK, "CUPTI_SUCCESS"},
        {INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
        {INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
        {SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"},
        {MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
        {NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
        {INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
        {NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
        {35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
        {MULTIPLE_SUBSCRIBERS, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
        {UNKNOWN_ERROR, "CUPTI_ERROR_UNKNOWN"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].code == result && text != NULL) {
            *text = known[i].text;
            return OK;
        }
    }
    return INVALID_PARAMETER;
}

API int cuptiGetErrorMessage(int result, const char **text);
API int cuptiGetErrorMessage(int result, const char **text) {
    return cuptiGetResultString(result, text);
}

API int cuptiGetTimestamp(uint64_t *timestamp);
API int cuptiGetTimestamp(uint64_t *timestamp) {
    ENTER();
    *timestamp = now_ns();
    return OK;
}

API int cuptiSubscribe(void **handle, void *callback, void *data);
API int cuptiSubscribe(void **handle, void *callback, void *data) {
    ENTER();
    (void)callback, (void)data;
    if (handle == NULL)
        return INVALID_PARAMETER;
    uintptr_t none = 0;
    if (options.other_client || !atomic_compare_exchange_strong(&subscriber, &none, 1))
        return MULTIPLE_SUBSCRIBERS;
    *handle = &subscriber;
    return OK;
}

API int cuptiUnsubscribe(void *handle);
API int cuptiUnsubscribe(void *handle) {
    ENTER();
    if (handle != &subscriber || atomic_exchange(&subscriber, 0) == 0)
        return INVALID_PARAMETER;
    return OK;
}

API int cuptiEnableDomain(uint32_t enable, void *handle, int domain);
API int cuptiEnableDomain(uint32_t enable, void *handle, int domain) {
    ENTER_WITH(domain);
    (void)enable;
    return handle == &subscriber ? OK : INVALID_PARAMETER;
}

API int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
API int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name) {
    ENTER_WITH(domain);
    if (name == NULL)
        return INVALID_PARAMETER;
    *name = NULL;
    if (domain == FAKE_API_RUNTIME && cbid != 0 && cbid < fake_release.runtime_size)
        *name = fake_release.runtime_names[cbid];
    if (domain == FAKE_API_DRIVER && cbid != 0 && cbid < fake_release.driver_size)
        *name = fake_release.driver_names[cbid];
    return *name != NULL ? OK : INVALID_PARAMETER;
}

API int cuptiSetThreadIdType(int type);
API int cuptiSetThreadIdType(int type) {
    ENTER_WITH(type);
    if (type != 0 && type != 1)
        return INVALID_PARAMETER;
    atomic_store(&system_thread_id, type == 1);
    return OK;
}

API int cuptiActivityRegisterCallbacks(request_callback request, complete_callback complete);
API int cuptiActivityRegisterCallbacks(request_callback request, complete_callback complete) {
    ENTER();
    if (request == NULL || complete == NULL)
        return INVALID_PARAMETER;
    attach_driver();
    set_callbacks(request, complete);
    return OK;
}

static bool has_kind(int kind) {
    uint32_t api = fake_release.api;
    int last = api < 26        ? 52
               : api < 27      ? 54
               : api < 130100  ? 55
               : api < 130200  ? 58
                               : 59;
    /* 27 is never a client's to enable, 53 comes with graph traces. */
    static const uint8_t closed[] = {27, 53};
    static const uint8_t legacy[] = {6, 7, 14, 15, 16, 21, 23, 24, 29, 30, 31, 32, 41, 42, 43, 44};
    return kind > 0 && kind <= last && memchr(closed, kind, sizeof closed) == NULL &&
           (api < 130000 || memchr(legacy, kind, sizeof legacy) == NULL);
}

static int switch_kind(int kind, unsigned char enable) {
    if (!has_kind(kind))
        return INVALID_KIND;
    atomic_store(&kind_on[kind], enable);
    /* The kind overrides what was set for single functions before. */
    if (kind == KIND_RUNTIME || kind == KIND_DRIVER) {
        int api = kind == KIND_RUNTIME ? FAKE_API_RUNTIME : FAKE_API_DRIVER;
        for (uint32_t cbid = 1; cbid < MAX_CBIDS; cbid++)
            atomic_store(&cbid_on[api][cbid], enable);
        if (enable)
            atomic_store(&calls_traced, true);
    }
    return OK;
}

API int cuptiActivityEnable(int kind);
API int cuptiActivityEnable(int kind) {
    ENTER_WITH(kind);
    attach_driver();
    count(C_ENABLES, 1);
    return switch_kind(kind, 1);
}

API int cuptiActivityDisable(int kind);
API int cuptiActivityDisable(int kind) {
    ENTER_WITH(kind);
    return switch_kind(kind, 0);
}

static int switch_function(int api, uint32_t cbid, uint32_t size, uint8_t enable) {
    if (cbid == 0 || cbid >= size)
        return INVALID_PARAMETER;
    atomic_store(&cbid_on[api][cbid], enable != 0);
    if (enable)
        atomic_store(&calls_traced, true);
    return OK;
}

API int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
API int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable) {
    ENTER_WITH(cbid);
    return switch_function(FAKE_API_RUNTIME, cbid, fake_release.runtime_size, enable);
}

API int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
API int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable) {
    ENTER_WITH(cbid);
    return switch_function(FAKE_API_DRIVER, cbid, fake_release.driver_size, enable);
}

API int cuptiActivityFlushAll(uint32_t flag);
API int cuptiActivityFlushAll(uint32_t flag) {
    ENTER_WITH(flag);
    return flush((flag & 1u) != 0);
}

/* Does nothing, as it is of no use in the real library either. */
API int cuptiActivityFlushPeriod(uint32_t milliseconds);
API int cuptiActivityFlushPeriod(uint32_t milliseconds) {
    ENTER_WITH(milliseconds);
    return OK;
}

API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
    ENTER_WITH(stream);
    (void)context;
    if (dropped == NULL)
        return INVALID_PARAMETER;
    *dropped = take_dropped();
    return OK;
}

static uint32_t known_stride(const uint8_t *record) {
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    if (kind == KIND_FUTURE)
        return options.unknown_refuse ? 0 : FUTURE_STRIDE;
    return stride_of(kind);
}

API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    ENTER_WITH(valid);
    count(C_NEXT_RECORD, 1);
    if (buffer == NULL || record == NULL)
        return INVALID_PARAMETER;
    uint8_t *next = buffer;
    if (*record != NULL) {
        if (known_stride(*record) == 0)
            return INVALID_KIND;
        next = *record + known_stride(*record);
    }
    if (next >= buffer + valid)
        return MAX_LIMIT_REACHED;
    uint32_t stride = known_stride(next);
    if (stride == 0 || next + stride > buffer + valid)
        return INVALID_KIND;
    *record = next;
    return OK;
}

API int cuptiActivityGetStructSize(int kind, uint32_t version, size_t *size);
API int cuptiActivityGetStructSize(int kind, uint32_t version, size_t *size) {
    ENTER_WITH(kind);
    if (size == NULL)
        return INVALID_PARAMETER;
    if (version != 0 && version < 130000)
        return NOT_SUPPORTED;
    *size = 0;
    for (uint32_t i = 0; i < fake_release.size_count; i++) {
        const struct struct_size *entry = &fake_release.sizes[i];
        if (entry->kind == (uint32_t)kind &&
            (version == 0 || entry->version / 100 <= version / 100)) /* oldest release first */
            *size = entry->size;
    }
    return *size != 0 ? OK : INVALID_KIND;
}

static atomic_bool *attribute_place(int attribute) {
    return attribute == ATTRIBUTE_ZEROED_OUT ? &zeroed_out : NULL;
}

API int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
API int cuptiActivitySetAttribute(int attribute, size_t *size, void *value) {
    ENTER_WITH(attribute);
    if (size == NULL || value == NULL || attribute < 0 || attribute >= ATTRIBUTES)
        return INVALID_PARAMETER;
    bool is_flag = attribute == ATTRIBUTE_ZEROED_OUT || attribute == ATTRIBUTE_PER_THREAD ||
                   attribute == 8;
    if (*size < (is_flag ? sizeof(uint8_t) : sizeof(size_t)))
        return SIZE_NOT_SUFFICIENT;
    if (attribute_place(attribute) != NULL)
        atomic_store(attribute_place(attribute), *(uint8_t *)value != 0);
    else if (attribute == ATTRIBUTE_PER_THREAD)
        options.per_thread = *(uint8_t *)value != 0;
    return OK;
}

API int cuptiActivityGetAttribute(int attribute, size_t *size, void *value);
API int cuptiActivityGetAttribute(int attribute, size_t *size, void *value) {
    ENTER_WITH(attribute);
    if (size == NULL || value == NULL || *size < 1)
        return INVALID_PARAMETER;
    if (attribute_place(attribute) != NULL)
        *(uint8_t *)value = atomic_load(attribute_place(attribute));
    else if (attribute == ATTRIBUTE_PER_THREAD)
        *(uint8_t *)value = options.per_thread;
    else
        return INVALID_PARAMETER;
    *size = 1;
    return OK;
}

/* What a client switched: each call adds its own number, see ProcessLog.counters. */
static int switched(uint64_t what) {
    count(C_SWITCHES, what);
    return OK;
}

API int cuptiActivityEnableAllSyncRecords(uint8_t enable);
API int cuptiActivityEnableAllSyncRecords(uint8_t enable) {
    ENTER_WITH(enable);
    return switched(enable ? 2 : 1);
}

API int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);
API int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable) {
    ENTER_WITH(enable);
    return switched(enable ? 4 : 0);
}

API int cuptiActivityEnableAllocationSource(uint8_t enable);
API int cuptiActivityEnableAllocationSource(uint8_t enable) {
    ENTER_WITH(enable);
    return switched(enable ? 8 : 0);
}

API int cuptiActivityEnableDeviceGraph(uint8_t enable);
API int cuptiActivityEnableDeviceGraph(uint8_t enable) {
    ENTER_WITH(enable);
    return switched(enable ? 16 : 0);
}

/* Scope, counter, device and whether it is to be on, as documented. */
API int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t *config, uint32_t configs);
API int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t *config, uint32_t configs) {
    ENTER_WITH(configs);
    for (uint32_t i = 0; i < configs; i++, config += 4) {
        if (config[0] == 0 || config[0] > 2 || config[1] == 0 || config[1] > 8)
            return INVALID_PARAMETER;
        switched(config[3] ? 256 : 0);
    }
    return OK;
}

/* Called by the injected library's InitializeInjectionNvtx2 with what NVTX gave it. */
API int cuptiNvtxInitialize2(void *get_export_table);
API int cuptiNvtxInitialize2(void *get_export_table) {
    const void *(*get)(uint32_t) = NULL;
    memcpy(&get, &get_export_table, sizeof get);
    const uint32_t *table = get != NULL ? get(1) : NULL;
    if (enter(__func__, 0) != OK || table == NULL || table[1] != FAKE_NVTX_TABLE)
        return 0;
    attach_driver();
    atomic_store(&nvtx_attached, true);
    return 1;
}

API int cuptiFinalize(void);
API int cuptiFinalize(void) {
    ENTER();
    for (int kind = 1; kind < KINDS; kind++)
        if (atomic_load(&kind_on[kind]))
            switch_kind(kind, 0);
    return OK;
}

/* The functions of version 1 of the activity API.  Which of them a release exports is decided
 * by the list that it is linked with. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

#define V1 (&subscribers[0])
/* From 13.3 on what belongs to a subscriber of version 2 is not asked for by version 1. */
#define REFUSE_WITH_V2()                                                                           \
    do {                                                                                           \
        if (fake_release.api >= 130300 && v2_in_use())                                             \
            return NOT_COMPATIBLE;                                                                 \
    } while (0)
/* What is set for the process as a whole is so only while there is one subscriber. */
#define REFUSE_WITH_SEVERAL()                                                                      \
    do {                                                                                           \
        if (multiple_subscribers())                                                                \
            return NOT_COMPATIBLE;                                                                 \
    } while (0)

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
        {NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
        {QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
        {NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
        {INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
        {NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
        {8, "CUPTI_ERROR_OUT_OF_MEMORY"},
        {17, "CUPTI_ERROR_INVALID_METRIC_NAME"},
        {26, "CUPTI_ERROR_HARDWARE_BUSY"},
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

/* The fake driver's contexts are their numbers; their default stream is 7. */
API int cuptiGetContextId(void *context, uint32_t *id);
API int cuptiGetContextId(void *context, uint32_t *id) {
    *id = (uint32_t)(uintptr_t)context;
    return context != NULL ? OK : INVALID_PARAMETER;
}

API int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id);
API int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id) {
    *id = 7;
    return context != NULL && stream == NULL && !per_thread ? OK : INVALID_PARAMETER;
}

API int cuptiGetTimestamp(uint64_t *result);
API int cuptiGetTimestamp(uint64_t *result) {
    ENTER();
    REFUSE_WITH_V2();
    if (result == NULL)
        return INVALID_PARAMETER;
    *result = timestamp();
    return OK;
}

/* Seen with CUPTI 13.0: the default does not come back; with 13.5: while a kind is enabled, the
 * clock stays as it is. */
API int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void));
API int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) {
    ENTER();
    if (clock == NULL)
        return INVALID_PARAMETER;
    bool is_fixed = false;
    for (int kind = 1; kind < KINDS && fake_release.api >= 130500; kind++)
        is_fixed |= V1->kind_on[kind];
    if (!is_fixed)
        set_clock(clock);
    return OK;
}

API int cuptiSetThreadIdType(int type);
API int cuptiSetThreadIdType(int type) {
    ENTER_WITH(type);
    if (type != 0 && type != 1)
        return INVALID_PARAMETER;
    REFUSE_WITH_SEVERAL();
    for (unsigned i = 0; i < MAX_SUBSCRIBERS; i++)
        atomic_store(&subscribers[i].system_thread_id, type == 1);
    return OK;
}

API int cuptiActivityRegisterCallbacks(request_callback request, complete_callback complete);
API int cuptiActivityRegisterCallbacks(request_callback request, complete_callback complete) {
    ENTER();
    REFUSE_WITH_V2();
    if (request == NULL || complete == NULL)
        return INVALID_PARAMETER;
    attach_driver();
    set_client(V1, (struct client){.request = request, .complete = complete});
    return OK;
}

API int cuptiActivityEnable(int kind);
API int cuptiActivityEnable(int kind) {
    ENTER_WITH(kind);
    REFUSE_WITH_V2();
    attach_driver();
    count(C_ENABLES, 1);
    count(C_OUTSIDE, !is_in_entry());
    if (!has_kind(kind))
        return INVALID_KIND;
    int other = kind == KIND_KERNEL ? KIND_CONCURRENT_KERNEL : KIND_KERNEL;
    /* Seen with CUPTI 13.0; with 13.5, not before there is work. */
    if ((kind == KIND_KERNEL || kind == KIND_CONCURRENT_KERNEL) && V1->kind_on[other] &&
        (fake_release.api < 130500 || has_work()))
        return NOT_COMPATIBLE;
    switch_kind(V1, kind, true);
    return OK;
}

API int cuptiActivityDisable(int kind);
API int cuptiActivityDisable(int kind) {
    ENTER_WITH(kind);
    REFUSE_WITH_V2();
    count(C_DISABLES, 1);
    count(C_OUTSIDE, !is_in_entry());
    if (!has_kind(kind))
        return INVALID_KIND;
    switch_kind(V1, kind, false);
    return OK;
}

API int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
API int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable) {
    ENTER_WITH(cbid);
    REFUSE_WITH_V2();
    return switch_function(V1, FAKE_API_RUNTIME, cbid, enable != 0);
}

API int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
API int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable) {
    ENTER_WITH(cbid);
    REFUSE_WITH_V2();
    return switch_function(V1, FAKE_API_DRIVER, cbid, enable != 0);
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
    REFUSE_WITH_V2();
    (void)context;
    if (dropped == NULL)
        return INVALID_PARAMETER;
    *dropped = take_dropped(V1);
    return OK;
}

int next_record(const struct record_set *set, uint8_t *buffer, size_t valid, uint8_t **record) {
    count(C_NEXT_RECORD, 1);
    if (buffer == NULL || record == NULL)
        return INVALID_PARAMETER;
    uint8_t *next = buffer;
    if (*record != NULL) {
        if (stride_of(set, kind_of(*record)) == 0)
            return INVALID_KIND;
        next = *record + stride_of(set, kind_of(*record));
    }
    if (next >= buffer + valid)
        return MAX_LIMIT_REACHED;
    uint32_t stride = stride_of(set, kind_of(next));
    if (stride == 0 || next + stride > buffer + valid)
        return INVALID_KIND;
    *record = next;
    return OK;
}

API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    ENTER_WITH(valid);
    /* 13.2 has user-defined records, and no function of version 2 to walk them. */
    struct subscriber *only = fake_release.api < 130300 ? only_v2() : NULL;
    return next_record(only != NULL ? atomic_load(&only->set) : &predefined, buffer, valid,
                       record);
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

API int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
API int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
    ENTER_WITH(kind);
    REFUSE_WITH_V2();
    return push_external(V1, kind, id);
}

API int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *id);
API int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *id) {
    ENTER_WITH(kind);
    REFUSE_WITH_V2();
    return pop_external(V1, kind, id);
}

API int cuptiActivitySetAttribute(int number, size_t *size, void *value);
API int cuptiActivitySetAttribute(int number, size_t *size, void *value) {
    ENTER_WITH(number);
    REFUSE_WITH_SEVERAL();
    return number <= 10 ? set_attribute(NULL, number, size, value) : INVALID_PARAMETER;
}

API int cuptiActivityGetAttribute(int number, size_t *size, void *value);
API int cuptiActivityGetAttribute(int number, size_t *size, void *value) {
    ENTER_WITH(number);
    REFUSE_WITH_SEVERAL();
    return number <= 10 ? get_attribute(V1, number, size, value) : INVALID_PARAMETER;
}

/* What a client switched: each call adds its own number, see ProcessLog.counters. */
static int switched(uint64_t what) {
    REFUSE_WITH_SEVERAL();
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

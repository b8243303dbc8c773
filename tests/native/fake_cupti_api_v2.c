/* The functions of version 2 of the activity API: each speaks for one subscriber. */
#include "fake_cupti.h"

#include <string.h>

struct selection { /* CUpti_ActivityFieldSelection */
    size_t struct_size, field_count;
    const int *ids;
};
struct config { /* CUpti_ActivityConfig; the last member counts from 13.4 on */
    size_t struct_size;
    struct selection selection;
    const void *kind_options;
};
struct cbid_options { /* CUpti_ActivityApiCbidOptions */
    size_t struct_size;
    const uint32_t *cbids;
    size_t count;
    uint8_t enable;
};
struct api_options { /* CUpti_ActivityApiOptions */
    size_t struct_size;
    const struct cbid_options *cbids;
};

/* Declares `subscriber`, or leaves. */
#define FIND_SUBSCRIBER()                                                                          \
    struct subscriber *subscriber = find_subscriber(handle);                                       \
    if (subscriber == NULL)                                                                        \
    return INVALID_PARAMETER

API int cuptiActivityRegisterCallbacks_v2(void *handle, request_callback_v2 request,
                                          complete_callback_v2 complete);
API int cuptiActivityRegisterCallbacks_v2(void *handle, request_callback_v2 request,
                                          complete_callback_v2 complete) {
    ENTER();
    FIND_SUBSCRIBER();
    if (request == NULL || complete == NULL)
        return INVALID_PARAMETER;
    attach_driver();
    set_client(subscriber, (struct client){.request_v2 = request, .complete_v2 = complete});
    return OK;
}

API int cuptiActivitySetAttribute_v2(void *handle, int number, size_t *size, void *value);
API int cuptiActivitySetAttribute_v2(void *handle, int number, size_t *size, void *value) {
    ENTER_WITH(number);
    FIND_SUBSCRIBER();
    return set_attribute(subscriber, number, size, value);
}

API int cuptiActivityGetAttribute_v2(void *handle, int number, size_t *size, void *value);
API int cuptiActivityGetAttribute_v2(void *handle, int number, size_t *size, void *value) {
    ENTER_WITH(number);
    FIND_SUBSCRIBER();
    return get_attribute(subscriber, number, size, value);
}

static bool same_fields(const struct record_layout *layout, const struct selection *selection) {
    if (layout->field_count == 0 || layout->field_count != selection->field_count)
        return false;
    for (size_t i = 0; i < layout->field_count; i++)
        if (layout->entries[i].id != selection->ids[i])
            return false;
    return true;
}

static bool has_records(const struct queue *queue) {
    return queue->full != NULL || (queue->current != NULL && queue->current->records != 0);
}

/* Records that wait to be handed over keep the old fields; a client that did not flush them
 * before is counted. */
static int select_kind(struct subscriber *subscriber, uint32_t kind,
                       const struct selection *selection) {
    const struct record_set *set = atomic_load(&subscriber->set);
    if (selection->ids == NULL)
        return INVALID_PARAMETER;
    if (same_fields(set->layouts[kind], selection))
        return OK;
    set = select_fields(set, kind, selection->ids, selection->field_count);
    if (set == NULL)
        return INVALID_PARAMETER;
    bool again = atomic_load(&subscriber->set)->layouts[kind]->field_count != 0, late = false;
    for (struct queue *queue = atomic_load(&subscriber->queues); queue != NULL;
         queue = queue->next) {
        pthread_mutex_lock(&queue->lock);
        late = late || has_records(queue);
        pthread_mutex_unlock(&queue->lock);
    }
    count(C_UNFENCED, again && late);
    atomic_store(&subscriber->set, set);
    return OK;
}

static bool can_select(uint32_t kind) {
    for (uint32_t i = 0; i < fake_release.field_count; i++)
        if (fake_release.fields[i].kind == kind)
            return true;
    return false;
}

/* An allowlist or a denylist of callback ids. */
static int filter(struct subscriber *subscriber, int kind, const struct api_options *given) {
    const struct cbid_options *filter = given->cbids;
    int api = kind == KIND_RUNTIME ? FAKE_API_RUNTIME : FAKE_API_DRIVER;
    if (given->struct_size < sizeof *given)
        return INVALID_PARAMETER;
    if (filter == NULL)
        return OK;
    if (filter->struct_size < offsetof(struct cbid_options, enable) + 1 ||
        (filter->count != 0 && filter->cbids == NULL))
        return INVALID_PARAMETER;
    for (uint32_t cbid = 1; filter->enable && cbid < MAX_CBIDS; cbid++)
        atomic_store(&subscriber->cbid_on[api][cbid], 0);
    for (size_t i = 0; i < filter->count; i++) {
        int status = switch_function(subscriber, api, filter->cbids[i], filter->enable != 0);
        if (status != OK)
            return status;
    }
    return OK;
}

static int enable(struct subscriber *subscriber, int kind, const struct config *config) {
    bool is_call = kind == KIND_RUNTIME || kind == KIND_DRIVER;
    if (!has_kind(kind) && kind != 53) /* device graphs are a kind of their own here */
        return INVALID_KIND;
    if (config != NULL && config->struct_size < offsetof(struct config, kind_options))
        return INVALID_PARAMETER;
    if (atomic_load(&subscriber->user_defined)) {
        if (!can_select((uint32_t)kind))
            return NOT_COMPATIBLE;
        if (config == NULL)
            return INVALID_PARAMETER;
        int status = select_kind(subscriber, (uint32_t)kind, &config->selection);
        if (status != OK)
            return status;
    }
    attach_driver();
    switch_kind(subscriber, kind, true);
    bool filters = fake_release.api >= 130400 && config != NULL &&
                   config->struct_size >= sizeof *config && config->kind_options != NULL;
    return is_call && filters ? filter(subscriber, kind, config->kind_options) : OK;
}

API int cuptiActivityEnable_v2(void *handle, int kind, const struct config *config);
API int cuptiActivityEnable_v2(void *handle, int kind, const struct config *config) {
    ENTER_WITH(kind);
    FIND_SUBSCRIBER();
    count(C_ENABLES, 1);
    count(C_OUTSIDE, !is_in_entry());
    return enable(subscriber, kind, config);
}

API int cuptiActivityDisable_v2(void *handle, int kind, const struct config *config);
API int cuptiActivityDisable_v2(void *handle, int kind, const struct config *config) {
    ENTER_WITH(kind);
    FIND_SUBSCRIBER();
    (void)config;
    count(C_DISABLES, 1);
    count(C_OUTSIDE, !is_in_entry());
    if (!has_kind(kind) && kind != 53)
        return INVALID_KIND;
    switch_kind(subscriber, kind, false);
    return OK;
}

API int cuptiActivityEnableRuntimeApi_v2(void *handle, uint32_t cbid, uint8_t on);
API int cuptiActivityEnableRuntimeApi_v2(void *handle, uint32_t cbid, uint8_t on) {
    ENTER_WITH(cbid);
    FIND_SUBSCRIBER();
    return switch_function(subscriber, FAKE_API_RUNTIME, cbid, on != 0);
}

API int cuptiActivityEnableDriverApi_v2(void *handle, uint32_t cbid, uint8_t on);
API int cuptiActivityEnableDriverApi_v2(void *handle, uint32_t cbid, uint8_t on) {
    ENTER_WITH(cbid);
    FIND_SUBSCRIBER();
    return switch_function(subscriber, FAKE_API_DRIVER, cbid, on != 0);
}

static bool wanted(const struct subscriber *subscriber, uint32_t kind) {
    for (unsigned i = 0; subscriber == NULL && i < atomic_load(&subscriber_count); i++)
        if (atomic_load(&subscribers[i].kind_on[kind]))
            return true;
    return subscriber != NULL && atomic_load(&subscriber->kind_on[kind]);
}

/* The size is taken for bytes; without a subscriber the kinds of all. */
API int cuptiActivityGetEnabledKinds(void *handle, int *kinds, uint32_t *size, uint32_t *found);
API int cuptiActivityGetEnabledKinds(void *handle, int *kinds, uint32_t *size, uint32_t *found) {
    ENTER();
    struct subscriber *subscriber = find_subscriber(handle);
    if (found == NULL || (handle != NULL && subscriber == NULL) || (kinds != NULL && size == NULL))
        return INVALID_PARAMETER;
    *found = 0;
    for (uint32_t kind = 1; kind < KINDS; kind++) {
        if (!wanted(subscriber, kind))
            continue;
        if (kinds != NULL && (*found + 1) * sizeof *kinds <= *size)
            kinds[*found] = (int)kind;
        ++*found;
    }
    return OK;
}

API int cuptiActivityGetNextRecord_v2(void *handle, uint8_t *buffer, size_t valid,
                                      uint8_t **record);
API int cuptiActivityGetNextRecord_v2(void *handle, uint8_t *buffer, size_t valid,
                                      uint8_t **record) {
    ENTER_WITH(valid);
    FIND_SUBSCRIBER();
    return next_record(atomic_load(&subscriber->set), buffer, valid, record);
}

API int cuptiActivityGetNumDroppedRecords_v2(void *handle, void *context, uint32_t stream,
                                             size_t *dropped);
API int cuptiActivityGetNumDroppedRecords_v2(void *handle, void *context, uint32_t stream,
                                             size_t *dropped) {
    ENTER_WITH(stream);
    FIND_SUBSCRIBER();
    (void)context;
    if (dropped == NULL)
        return INVALID_PARAMETER;
    *dropped = take_dropped(subscriber);
    return OK;
}

API int cuptiGetTimestamp_v2(void *handle, uint64_t *timestamp);
API int cuptiGetTimestamp_v2(void *handle, uint64_t *timestamp) {
    ENTER();
    if (find_subscriber(handle) == NULL || timestamp == NULL)
        return INVALID_PARAMETER;
    *timestamp = now_ns();
    return OK;
}

API int cuptiActivityPushExternalCorrelationId_v2(void *handle, uint32_t kind, uint64_t id);
API int cuptiActivityPushExternalCorrelationId_v2(void *handle, uint32_t kind, uint64_t id) {
    ENTER_WITH(kind);
    FIND_SUBSCRIBER();
    return push_external(subscriber, kind, id);
}

API int cuptiActivityPopExternalCorrelationId_v2(void *handle, uint32_t kind, uint64_t *id);
API int cuptiActivityPopExternalCorrelationId_v2(void *handle, uint32_t kind, uint64_t *id) {
    ENTER_WITH(kind);
    FIND_SUBSCRIBER();
    return pop_external(subscriber, kind, id);
}

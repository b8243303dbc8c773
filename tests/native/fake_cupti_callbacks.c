/* Subscribing, and the callbacks at the start and the end of the program's calls. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DOMAIN_DRIVER = 1,
    DOMAIN_RUNTIME,
    DOMAIN_RESOURCE,
    DOMAIN_SYNCHRONIZE,
    DOMAIN_NVTX,
    DOMAIN_STATE,
};
/* CUPTI_CBID_RESOURCE_SIZE before CUDA 13.0, which tells of nodes that are updated. */
enum { RESOURCE_CBIDS_12 = 22 };

struct params { /* CUpti_SubscriberParams; the last member is there from 13.2 on */
    size_t struct_size;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t allow_multiple, padding[7];
};

struct callback_data { /* CUpti_CallbackData */
    int site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint listeners[DOMAINS][MAX_CBIDS]; /* subscribers of a callback */
static bool allows_others;

bool multiple_subscribers(void) {
    return v2_in_use() && allows_others;
}

bool listened_to(uint32_t domain, uint32_t cbid) {
    return atomic_load_explicit(&listeners[domain][cbid % MAX_CBIDS], memory_order_relaxed) != 0;
}

/* The driver's names end in what belongs to them, those of the runtime in a version. */
static const char *function_name(uint32_t domain, uint32_t cbid) {
    static char *names[MAX_CBIDS];
    if (domain == DOMAIN_DRIVER)
        return cbid < fake_release.driver_size ? fake_release.driver_names[cbid] : NULL;
    pthread_mutex_lock(&lock);
    if (cbid < fake_release.runtime_size && names[cbid] == NULL) {
        names[cbid] = strdup(fake_release.runtime_names[cbid]);
        char *version = names[cbid] != NULL ? strstr(names[cbid], "_v") : NULL;
        if (version != NULL)
            *version = '\0';
    }
    pthread_mutex_unlock(&lock);
    return cbid < fake_release.runtime_size ? names[cbid] : NULL;
}

static void call_domain(const struct call *call, uint32_t domain, uint32_t cbid, bool at_exit) {
    static _Thread_local uint64_t kept[MAX_SUBSCRIBERS][DOMAINS];
    if (cbid == 0 || !listened_to(domain, cbid))
        return;
    struct callback_data data = {
        .site = at_exit,
        .function = function_name(domain, cbid),
        .parameters = call->arguments[domain - 1],
        .result = at_exit ? (void *)&call->result : NULL,
        .symbol = call->symbol,
        .context = (void *)(uintptr_t)launch_context(), /* 1: as call_back_resource() has it */
        .context_uid = 1,
        .correlation = call->correlation,
    };
    for (unsigned i = 0; i < atomic_load(&subscriber_count); i++) {
        struct subscriber *to = &subscribers[i];
        callback_function function = atomic_load(&to->callback);
        if (function == NULL || !atomic_load(&to->callback_on[domain][cbid]))
            continue;
        if (!at_exit)
            kept[i][domain] = 0;
        data.correlation_data = &kept[i][domain];
        count(C_CALLBACKS, 1);
        function(to->callback_data, (int)domain, cbid, &data);
    }
}

static void tell(uint32_t domain, uint32_t cbid, const void *info) {
    for (unsigned i = 0; i < atomic_load(&subscriber_count); i++) {
        struct subscriber *to = &subscribers[i];
        callback_function function = atomic_load(&to->callback);
        if (function == NULL || !atomic_load(&to->callback_on[domain][cbid]))
            continue;
        count(C_CALLBACKS, 1);
        function(to->callback_data, (int)domain, cbid, info);
    }
}

void call_back_resource(uint32_t cbid, uint64_t context, uint64_t stream,
                        const void *descriptor) {
    struct { /* CUpti_ResourceData */
        uint64_t context, stream;
        const void *descriptor;
    } data = {context, stream, descriptor};
    tell(DOMAIN_RESOURCE, cbid, &data);
}

void call_back_init_finished(void) {
    enum { CU_INIT_FINISHED = 5 };
    tell(DOMAIN_RESOURCE, CU_INIT_FINISHED, NULL);
}

void call_back_synchronize(uint64_t stream) {
    struct { /* CUpti_SynchronizeData */
        uint64_t context, stream;
    } data = {1, stream};
    tell(DOMAIN_SYNCHRONIZE, stream != 0 ? 1 : 2, &data);
}

void call_back_nvtx(uint32_t cbid, const char *function, const void *arguments) {
    struct { /* CUpti_NvtxData */
        const char *function;
        const void *arguments, *result;
    } data = {function, arguments, NULL};
    tell(DOMAIN_NVTX, cbid, &data);
}

void call_back_state(uint32_t cbid, int result, const char *message) {
    struct { /* CUpti_StateData */
        int result;
        const char *message;
    } data = {result, message};
    tell(DOMAIN_STATE, cbid, &data);
}

static _Thread_local bool in_call, in_entry;

bool is_in_call(void) {
    return in_call;
}

bool is_in_entry(void) {
    return in_entry;
}

void call_back(const struct call *call, bool at_exit) {
    in_call = true;
    in_entry = !at_exit;
    if (!at_exit)
        call_domain(call, DOMAIN_RUNTIME, call->runtime, false);
    call_domain(call, DOMAIN_DRIVER, call->driver, at_exit);
    if (at_exit)
        call_domain(call, DOMAIN_RUNTIME, call->runtime, true);
    in_call = in_entry = false;
}

static struct subscriber *any_subscriber(const void *handle) {
    if (handle == &subscribers[0] && atomic_load(&subscribers[0].alive))
        return &subscribers[0];
    return find_subscriber(handle);
}

static uint32_t domain_size(int domain) {
    /* Of CUPTI 13.5; the last is CUPTI_CBID_..._SIZE. */
    static const uint32_t others[DOMAINS] = {
        [DOMAIN_RESOURCE] = 26, [DOMAIN_SYNCHRONIZE] = 3, [DOMAIN_NVTX] = 50, [DOMAIN_STATE] = 4};
    if (domain <= 0 || domain >= (int)DOMAINS)
        return 0;
    return domain == DOMAIN_RUNTIME ? fake_release.runtime_size
           : domain == DOMAIN_DRIVER ? fake_release.driver_size
           : domain == DOMAIN_RESOURCE && fake_release.api < 130000 ? RESOURCE_CBIDS_12
                                     : others[domain];
}

static void switch_callback(struct subscriber *subscriber, int domain, uint32_t cbid, bool on) {
    bool before = atomic_exchange(&subscriber->callback_on[domain][cbid], on);
    if (before != on)
        atomic_fetch_add(&listeners[domain][cbid], on ? 1u : -1u);
    if (on && domain <= DOMAIN_RUNTIME)
        atomic_store(&calls_traced, true);
}

static int refuse(void) {
    count(C_REFUSED_SUBSCRIPTIONS, 1);
    return MULTIPLE_SUBSCRIBERS;
}

static void begin(struct subscriber *subscriber, callback_function callback, void *data) {
    subscriber->callback_data = data;
    atomic_store(&subscriber->callback, callback);
    atomic_store(&subscriber->alive, true);
    count(C_SUBSCRIPTIONS, 1);
    attach_driver();
}

/* Everything that the subscriber asked for ends; buffers that it did not get are lost. */
static void end(struct subscriber *subscriber) {
    for (int domain = 1; domain < (int)DOMAINS; domain++)
        for (uint32_t cbid = 1; cbid < domain_size(domain); cbid++)
            switch_callback(subscriber, domain, cbid, false);
    atomic_store(&subscriber->callback, NULL);
    if (subscriber != &subscribers[0]) {
        for (int kind = 1; kind <= (int)last_kind(); kind++)
            switch_kind(subscriber, kind, false);
        atomic_store(&subscriber->client, NULL);
    }
    atomic_store(&subscriber->alive, false);
}

API int cuptiSubscribe(void **handle, callback_function callback, void *data);
API int cuptiSubscribe(void **handle, callback_function callback, void *data) {
    ENTER();
    if (handle == NULL)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    bool taken = options.other_client || v2_in_use() || atomic_load(&subscribers[0].alive);
    if (!taken)
        begin(&subscribers[0], callback, data);
    pthread_mutex_unlock(&lock);
    *handle = taken ? *handle : &subscribers[0];
    return taken ? refuse() : OK;
}

/* A new place for each: records of one that left may still be on their way. */
static struct subscriber *add_subscriber(const char *name) {
    unsigned place = atomic_load(&subscriber_count);
    if (place == MAX_SUBSCRIBERS)
        return NULL;
    snprintf(subscribers[place].name, sizeof subscribers[place].name, "CUPTI for %s", name);
    atomic_store(&subscriber_count, place + 1);
    return &subscribers[place];
}

/* A client of version 1 that did not subscribe counts while it has kinds enabled. */
static bool v1_in_use(void) {
    bool used = atomic_load(&subscribers[0].alive);
    for (uint32_t kind = 1; kind < KINDS; kind++)
        used = used || atomic_load(&subscribers[0].kind_on[kind]);
    return used;
}

static const char *first_name(void) {
    for (unsigned i = 1; i < atomic_load(&subscriber_count); i++)
        if (atomic_load(&subscribers[i].alive))
            return subscribers[i].name;
    return v1_in_use() ? "CUPTI" : options.other_client ? "Nsight" : NULL;
}

static bool can_join(bool allow) {
    bool possible = fake_release.api >= 130300 && driver_version() >= 13030;
    if (options.other_client || v1_in_use() || (allow && !possible))
        return false;
    return !v2_in_use() || (allow && allows_others);
}

API int cuptiSubscribe_v2(void **handle, callback_function callback, void *data,
                          struct params *params);
API int cuptiSubscribe_v2(void **handle, callback_function callback, void *data,
                          struct params *params) {
    ENTER();
    struct params given = {0};
    if (fake_release.api < 130200) /* declared, but of no use yet */
        return INVALID_PARAMETER;
    if (handle == NULL || (params != NULL && params->struct_size < 4 * sizeof(size_t)))
        return INVALID_PARAMETER;
    if (params != NULL)
        memcpy(&given, params,
               params->struct_size < sizeof given ? params->struct_size : sizeof given);
    pthread_mutex_lock(&lock);
    bool allow = given.allow_multiple == 1, joins = can_join(allow);
    const char *old = first_name();
    if (given.old_name != NULL && given.old_size != 0 && old != NULL)
        snprintf(given.old_name, given.old_size, "%s", old);
    bool first = !v2_in_use();
    struct subscriber *made = joins ? add_subscriber(given.name != NULL ? given.name : "") : NULL;
    if (made != NULL && first)
        allows_others = allow;
    if (made != NULL)
        begin(made, callback, data);
    pthread_mutex_unlock(&lock);
    if (made == NULL)
        return refuse();
    *handle = made;
    return OK;
}

API int cuptiUnsubscribe(void *handle);
API int cuptiUnsubscribe(void *handle) {
    ENTER();
    struct subscriber *subscriber = any_subscriber(handle);
    if (subscriber == NULL)
        return INVALID_PARAMETER;
    end(subscriber);
    count(C_UNSUBSCRIPTIONS, 1);
    return OK;
}

/* Takes down what anybody set up; nothing if there are several subscribers. */
API int cuptiFinalize(void);
API int cuptiFinalize(void) {
    ENTER();
    unsigned living = 0;
    for (unsigned i = 1; i < atomic_load(&subscriber_count); i++)
        living += atomic_load(&subscribers[i].alive);
    count(C_FINALIZES, 1);
    if (living > 1)
        return OK;
    for (unsigned i = 0; i < atomic_load(&subscriber_count); i++)
        end(&subscribers[i]);
    for (int kind = 1; kind <= (int)last_kind(); kind++)
        switch_kind(&subscribers[0], kind, false);
    atomic_store(&subscribers[0].client, NULL);
    set_clock(NULL);
    return OK;
}

API int cuptiEnableCallback(uint32_t enable, void *handle, int domain, uint32_t cbid);
API int cuptiEnableCallback(uint32_t enable, void *handle, int domain, uint32_t cbid) {
    ENTER_WITH(domain);
    struct subscriber *subscriber = any_subscriber(handle);
    if (subscriber == NULL || cbid == 0 || cbid >= domain_size(domain))
        return INVALID_PARAMETER;
    switch_callback(subscriber, domain, cbid, enable != 0);
    return OK;
}

API int cuptiEnableDomain(uint32_t enable, void *handle, int domain);
API int cuptiEnableDomain(uint32_t enable, void *handle, int domain) {
    ENTER_WITH(domain);
    struct subscriber *subscriber = any_subscriber(handle);
    if (subscriber == NULL || domain_size(domain) == 0)
        return INVALID_PARAMETER;
    for (uint32_t cbid = 1; cbid < domain_size(domain); cbid++)
        switch_callback(subscriber, domain, cbid, enable != 0);
    return OK;
}

API int cuptiGetCallbackState(uint32_t *enable, void *handle, int domain, uint32_t cbid);
API int cuptiGetCallbackState(uint32_t *enable, void *handle, int domain, uint32_t cbid) {
    ENTER_WITH(domain);
    struct subscriber *subscriber = any_subscriber(handle);
    if (enable == NULL || subscriber == NULL || cbid == 0 || cbid >= domain_size(domain))
        return INVALID_PARAMETER;
    *enable = atomic_load(&subscriber->callback_on[domain][cbid]);
    return OK;
}

API int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
API int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name) {
    ENTER_WITH(domain);
    if (name == NULL)
        return INVALID_PARAMETER;
    *name = NULL;
    if (domain == DOMAIN_RUNTIME && cbid != 0 && cbid < fake_release.runtime_size)
        *name = fake_release.runtime_names[cbid];
    if (domain == DOMAIN_DRIVER && cbid != 0 && cbid < fake_release.driver_size)
        *name = fake_release.driver_names[cbid];
    return *name != NULL ? OK : INVALID_PARAMETER;
}

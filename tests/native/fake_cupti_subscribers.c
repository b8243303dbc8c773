/* Who listens to what. */
#include "fake_cupti.h"

#include <string.h>

struct subscriber subscribers[MAX_SUBSCRIBERS];
atomic_uint subscriber_count = 1;

void init_subscribers(void) {
    for (unsigned i = 0; i < MAX_SUBSCRIBERS; i++)
        atomic_store(&subscribers[i].set, &predefined);
}

struct subscriber *find_subscriber(const void *handle) {
    for (unsigned i = 1; i < MAX_SUBSCRIBERS; i++)
        if (handle == &subscribers[i] && atomic_load(&subscribers[i].alive))
            return &subscribers[i];
    return NULL;
}

struct subscriber *only_v2(void) {
    struct subscriber *found = NULL;
    for (unsigned i = 1; i < atomic_load(&subscriber_count); i++) {
        if (atomic_load(&subscribers[i].alive) && found != NULL)
            return NULL;
        if (atomic_load(&subscribers[i].alive))
            found = &subscribers[i];
    }
    return found;
}

bool v2_in_use(void) {
    for (unsigned i = 1; i < atomic_load(&subscriber_count); i++)
        if (atomic_load(&subscribers[i].alive))
            return true;
    return false;
}

bool have_clients(void) {
    for (unsigned i = 0; i < atomic_load_explicit(&subscriber_count, memory_order_relaxed); i++)
        if (atomic_load_explicit(&subscribers[i].client, memory_order_relaxed) != NULL)
            return true;
    return false;
}

API int fakeClientState(struct fake_client_state *state) {
    struct client *client = atomic_load(&subscribers[0].client);
    *state = (struct fake_client_state){
        .receiver = client != NULL ? (const void *)client->complete : NULL,
        .waiting = atomic_load(&counters->counter[C_OUTSTANDING]),
        .refused = atomic_load(&counters->counter[C_REFUSED_SUBSCRIPTIONS]),
        .records_kernels = atomic_load(&subscribers[0].kind_on[KIND_CONCURRENT_KERNEL]),
    };
    return OK;
}

uint32_t last_kind(void) {
    uint32_t api = fake_release.api;
    return api < 26 ? 52 : api < 27 ? 54 : api < 130100 ? 55 : api < 130200 ? 58 : 59;
}

bool has_kind(int kind) {
    /* 27 is never a client's to enable, 53 comes with graph traces. */
    static const uint8_t closed[] = {27, 53};
    static const uint8_t legacy[] = {6, 7, 14, 15, 16, 21, 23, 24, 29, 30, 31, 32, 41, 42, 43, 44};
    return kind > 0 && kind <= (int)last_kind() && memchr(closed, kind, sizeof closed) == NULL &&
           (fake_release.api < 130000 || memchr(legacy, kind, sizeof legacy) == NULL);
}

void switch_kind(struct subscriber *subscriber, int kind, bool on) {
    bool before = atomic_exchange(&subscriber->kind_on[kind], on);
    if (before != on)
        atomic_fetch_add(&counters->enabled[kind], on ? 1 : (uint64_t)-1);
    /* The kind overrides what was set for single functions before. */
    if (kind == KIND_RUNTIME || kind == KIND_DRIVER) {
        int api = kind == KIND_RUNTIME ? FAKE_API_RUNTIME : FAKE_API_DRIVER;
        for (uint32_t cbid = 1; cbid < MAX_CBIDS; cbid++)
            atomic_store(&subscriber->cbid_on[api][cbid], on);
        atomic_store(&subscriber->takes_functions[api], on);
        if (on)
            atomic_store(&calls_traced, true);
    }
}

int switch_function(struct subscriber *subscriber, int api, uint32_t cbid, bool on) {
    uint32_t size = api == FAKE_API_RUNTIME ? fake_release.runtime_size : fake_release.driver_size;
    if (cbid == 0 || cbid >= size)
        return INVALID_PARAMETER;
    /* Seen with CUPTI 13.0: accepted, and without effect. */
    if (on && fake_release.api < 130500 && !atomic_load(&subscriber->takes_functions[api]) &&
        driver_is_initialised())
        return OK;
    atomic_store(&subscriber->takes_functions[api], true);
    atomic_store(&subscriber->cbid_on[api][cbid], on);
    if (on)
        atomic_store(&calls_traced, true);
    return OK;
}

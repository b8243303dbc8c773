/* Attributes: those of the process are sizes and numbers, those of a subscriber switches. */
#include "fake_cupti.h"

#include <string.h>

enum {
    DEVICE_BUFFER_SIZE = 0,
    POOL_LIMIT = 2,
    ZEROED_OUT = 5,
    HOST_PINNED = 8,
    PER_THREAD = 9,
    DEVICE_GRAPHS_SIZE = 10,
    USER_DEFINED = 11,
    MULTIPLE_STATE = 12,
    FIRST_SWITCH = 13,
    LAST_SWITCH = 20,
    THREAD_ID_TYPE = 21,
    TIMESTAMP_CALLBACK = 22,
    CIG_MODE = 23,
    HES_BUFFER_SIZE = 24,
};
enum { NOT_SET = 2 };

/* The defaults that the header gives. */
static size_t numbers[] = {[DEVICE_BUFFER_SIZE] = 3200000, 8u << 20, 250, 25000, 250,
                           [6] = 3, 3, [DEVICE_GRAPHS_SIZE] = 16u << 20, [HES_BUFFER_SIZE] = 128};

size_t *attribute(int number) {
    return &numbers[number];
}

static int count_attributes(void) {
    uint32_t api = fake_release.api;
    return api >= 130500 ? HES_BUFFER_SIZE + 1 : api >= 130200 ? CIG_MODE + 1 : USER_DEFINED;
}

static size_t size_of(int number) {
    if (number == THREAD_ID_TYPE)
        return sizeof(int);
    bool is_number = number < ZEROED_OUT || number == 6 || number == 7 ||
                     number == DEVICE_GRAPHS_SIZE || number == TIMESTAMP_CALLBACK ||
                     number == HES_BUFFER_SIZE;
    return is_number ? sizeof(size_t) : sizeof(uint8_t);
}

static bool any_kind_on(const struct subscriber *subscriber) {
    for (uint32_t kind = 1; kind < KINDS; kind++)
        if (atomic_load(&subscriber->kind_on[kind]))
            return true;
    return false;
}

static int set_of_subscriber(struct subscriber *subscriber, int number, uint8_t value) {
    switch (number) {
    case ZEROED_OUT:
        atomic_store(&subscriber->zeroed_out, value != 0);
        return OK;
    case THREAD_ID_TYPE:
        atomic_store(&subscriber->system_thread_id, value == 1);
        return value <= 1 ? OK : INVALID_PARAMETER;
    case USER_DEFINED:
        if (any_kind_on(subscriber)) /* to be set before */
            return INVALID_OPERATION;
        atomic_store(&subscriber->user_defined, value != 0);
        return OK;
    case TIMESTAMP_CALLBACK:
        return NOT_SUPPORTED;
    default:
        if (number >= FIRST_SWITCH && number <= LAST_SWITCH)
            atomic_store(&subscriber->switches[number - FIRST_SWITCH], value != 0);
        return number == MULTIPLE_STATE ? INVALID_PARAMETER : OK;
    }
}

int set_attribute(struct subscriber *subscriber, int number, const size_t *size,
                  const void *value) {
    uint8_t first;
    if (size == NULL || value == NULL || number < 0 || number >= count_attributes())
        return INVALID_PARAMETER;
    if (*size < size_of(number))
        return SIZE_NOT_SUFFICIENT;
    memcpy(&first, value, sizeof first);
    if (number == PER_THREAD) {
        options.per_thread = first != 0;
        return OK;
    }
    if (size_of(number) == sizeof(size_t) && number != TIMESTAMP_CALLBACK) {
        memcpy(&numbers[number], value, sizeof(size_t));
        if (number == DEVICE_BUFFER_SIZE)
            atomic_store(&counters->counter[C_DEVICE_BUFFER_SIZE], numbers[number]);
        if (number == POOL_LIMIT)
            atomic_store(&counters->counter[C_POOL_LIMIT], numbers[number]);
        return OK;
    }
    if (subscriber != NULL)
        return set_of_subscriber(subscriber, number, first);
    for (unsigned i = 0; i < MAX_SUBSCRIBERS; i++)
        set_of_subscriber(&subscribers[i], number, first);
    return OK;
}

static uint8_t get_of_subscriber(const struct subscriber *subscriber, int number) {
    switch (number) {
    case ZEROED_OUT:
        return atomic_load(&subscriber->zeroed_out);
    case PER_THREAD:
        return options.per_thread;
    case USER_DEFINED:
        return atomic_load(&subscriber->user_defined);
    case THREAD_ID_TYPE:
        return atomic_load(&subscriber->system_thread_id);
    case MULTIPLE_STATE:
        return v2_in_use() ? multiple_subscribers() : NOT_SET;
    default:
        return number >= FIRST_SWITCH && number <= LAST_SWITCH
                   ? atomic_load(&subscriber->switches[number - FIRST_SWITCH])
                   : 0;
    }
}

int get_attribute(struct subscriber *subscriber, int number, size_t *size, void *value) {
    if (size == NULL || value == NULL || number < 0 || number >= count_attributes())
        return INVALID_PARAMETER;
    if (*size < size_of(number))
        return SIZE_NOT_SUFFICIENT;
    *size = size_of(number);
    memset(value, 0, *size);
    if (*size == sizeof(size_t))
        memcpy(value, &numbers[number], sizeof(size_t));
    else
        *(uint8_t *)value = get_of_subscriber(subscriber, number);
    return OK;
}

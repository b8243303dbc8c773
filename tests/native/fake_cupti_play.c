/* Plays buffers that a real CUPTI returned: repeated {8 bytes "TUCUIRTF", 8 bytes length,
 * records}.  The names in them are pointers of a process that is long gone; each becomes
 * a name made from its value. */
#include "fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLAYED_NAMES = 4096 };

static uint64_t known[MAX_PLAYED_NAMES];
static const char *given[MAX_PLAYED_NAMES];
static size_t known_count;

static char *make_name(uint32_t kind, uint64_t pointer) {
    char base[64], *name = malloc(96);
    if (name == NULL)
        abort();
    if (kind == KIND_DEVICE) {
        snprintf(name, 96, "device_%llx", (unsigned long long)pointer);
    } else {
        int length = snprintf(base, sizeof base, "kernel_%llx", (unsigned long long)pointer);
        snprintf(name, 96, "_Z%d%sv", length, base);
    }
    return name;
}

static void revive(uint8_t *record, uint32_t kind, enum field field) {
    uint64_t pointer = get(&predefined, record, field);
    if (pointer == 0)
        return;
    size_t i = 0;
    while (i < known_count && known[i] != pointer)
        i++;
    if (i == known_count) {
        if (i == MAX_PLAYED_NAMES)
            abort();
        known[i] = pointer;
        given[i] = make_name(kind, pointer);
        known_count++;
    }
    put((struct record){record, predefined.writers[kind]}, field, (uintptr_t)given[i]);
}

static bool is_wanted(struct subscriber *to, const uint8_t *record, uint32_t kind) {
    if (options.play_all)
        return true;
    uint64_t cbid = get(&predefined, record, F_CBID) % MAX_CBIDS;
    if (kind == KIND_RUNTIME)
        return atomic_load(&to->cbid_on[FAKE_API_RUNTIME][cbid]) != 0;
    if (kind == KIND_DRIVER)
        return atomic_load(&to->cbid_on[FAKE_API_DRIVER][cbid]) != 0;
    return atomic_load(&to->kind_on[kind]) != 0;
}

static void play_buffer(struct queue *queue, const uint8_t *data, size_t size) {
    for (size_t offset = 0; offset < size;) {
        uint32_t kind;
        memcpy(&kind, data + offset, sizeof kind);
        uint32_t stride = stride_of(&predefined, kind);
        if (stride == 0 || size - offset < stride) {
            fprintf(stderr, "fake CUPTI: recording does not fit release %s: kind %u\n",
                    fake_release.name, kind);
            abort();
        }
        uint8_t *record = NULL;
        if (is_wanted(queue->subscriber, data + offset, kind))
            record = reserve(queue, &predefined, kind, stride);
        if (record != NULL) {
            memcpy(record, data + offset, stride);
            revive(record, kind, F_NAME);
            revive(record, kind, F_DOMAIN);
            count(C_PLAYED, 1);
        }
        offset += stride;
    }
    retire_current(queue);
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rbe");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "fake CUPTI: cannot read %s\n", path);
        abort();
    }
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*size);
    if (data == NULL || fread(data, 1, *size, file) != *size)
        abort();
    fclose(file);
    return data;
}

/* Into the predefined records of a subscriber. */
void play(struct subscriber *subscriber) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (options.play == NULL)
        return;
    pthread_mutex_lock(&lock);
    size_t size;
    uint8_t *data = read_file(options.play, &size);
    struct queue *queue = queue_lock(subscriber);
    retire_current(queue);
    for (size_t offset = 0; offset + 16 <= size;) {
        uint64_t length;
        memcpy(&length, data + offset + 8, sizeof length);
        if (memcmp(data + offset, "TUCUIRTF", 8) != 0 || length > size - offset - 16)
            abort();
        play_buffer(queue, data + offset + 16, (size_t)length);
        offset += 16 + (size_t)length;
    }
    queue_unlock(queue);
    free(data);
    pthread_mutex_unlock(&lock);
}

/* What was emitted, for the tests to compare with: sums in a shared mapping, so that
 * they outlive a killed process, and for small runs every record that was handed over. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct counters without_log;
struct counters *counters = &without_log;
static pthread_mutex_t row_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *rows;
static char base[4096];

/* The file is made under another name and renamed when it can be read. */
static int open_new(char *partial, size_t size) {
    for (unsigned number = 0; number < 1000; number++) {
        snprintf(base, sizeof base, "%s/%d.%u", options.log, (int)getpid(), number);
        snprintf(partial, size, "%s.partial", base);
        int file = open(partial, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (file >= 0)
            return file;
    }
    return -1;
}

static struct counters *map_file(int file) {
    if (ftruncate(file, sizeof *counters) != 0)
        return NULL;
    void *map = mmap(NULL, sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return map != MAP_FAILED ? map : NULL;
}

void init_log(void) {
    char partial[sizeof base + 16], path[sizeof base + 16];
    if (options.log == NULL)
        return;
    int file = open_new(partial, sizeof partial);
    struct counters *map = file >= 0 ? map_file(file) : NULL;
    if (map == NULL)
        return;
    close(file);
    counters = map;
    counters->magic = COUNTERS_MAGIC;
    counters->pid = (uint64_t)getpid();
    counters->version = options.version;
    snprintf(counters->release, sizeof counters->release, "%s", fake_release.name);
    if (options.log_rows) {
        snprintf(path, sizeof path, "%s.rows", base);
        rows = fopen(path, "wbe");
    }
    snprintf(path, sizeof path, "%s.counters", base);
    /* The other name stays, so that a second run of this pid takes a new one. */
    if (link(partial, path) != 0)
        perror(path);
}

static void write_string(uint64_t pointer) {
    const char *text = NULL;
    memcpy(&text, &pointer, sizeof text);
    uint32_t length = text != NULL ? (uint32_t)strlen(text) : UINT32_MAX;
    fwrite(&length, sizeof length, 1, rows);
    if (text != NULL)
        fwrite(text, 1, length, rows);
}

/* kind, stride, client, number of members (0: those of the release's record; else each with
 * its name, offset and size), then the record, then its name and domain (length, bytes). */
static void write_row(const struct record_set *set, const uint8_t *record, uint32_t client) {
    uint32_t kind = kind_of(record), stride = kind == KIND_FUTURE ? FUTURE_STRIDE : 0;
    const struct writer *writer = set->writers[kind];
    if (stride == 0)
        stride = writer->stride;
    uint32_t head[4] = {kind, stride, client, writer->selected};
    fwrite(head, sizeof head, 1, rows);
    for (uint32_t i = 0; i < writer->selected; i++) {
        uint32_t place[2] = {writer->members[i].offset, writer->members[i].size};
        write_string((uintptr_t)writer->members[i].name);
        fwrite(place, sizeof place, 1, rows);
    }
    fwrite(record, 1, stride, rows);
    write_string(get(set, record, F_NAME));
    write_string(get(set, record, F_DOMAIN));
}

static void add(_Atomic uint64_t *sum, uint64_t value) {
    if (value != 0)
        atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

void log_delivery(const struct buffer *buffer, unsigned client) {
    uint64_t delivered[KINDS] = {0}, start[KINDS] = {0}, end[KINDS] = {0};
    uint64_t correlation[KINDS] = {0}, incomplete[KINDS] = {0}, all = 0;
    const struct record_set *set = buffer->set;
    if (rows != NULL)
        pthread_mutex_lock(&row_lock);
    for (size_t offset = 0; offset < buffer->valid;) {
        const uint8_t *record = buffer->data + offset;
        uint32_t kind = kind_of(record);
        uint32_t stride = kind == KIND_FUTURE ? FUTURE_STRIDE : stride_of(set, kind);
        delivered[kind]++;
        all++;
        start[kind] += get(set, record, F_START) + get(set, record, F_TIMESTAMP);
        correlation[kind] += get(set, record, F_CORRELATION);
        uint64_t ended = get(set, record, F_END);
        end[kind] += ended;
        bool untimed = get(set, record, F_START) == 0; /* for want of a device buffer */
        incomplete[kind] += ended == 0 && !untimed && set->writers[kind]->offset[F_END] >= 0;
        if (kind == KIND_DRIVER || kind == KIND_RUNTIME)
            add(&counters->api[kind == KIND_DRIVER ? FAKE_API_DRIVER : FAKE_API_RUNTIME]
                              [get(set, record, F_CBID) % MAX_CBIDS], 1);
        if (rows != NULL)
            write_row(set, record, client);
        offset += stride;
    }
    if (rows != NULL) {
        fflush(rows);
        pthread_mutex_unlock(&row_lock);
    }
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        add(&counters->delivered[kind], delivered[kind]);
        add(&counters->sum_start[kind], start[kind]);
        add(&counters->sum_end[kind], end[kind]);
        add(&counters->sum_correlation[kind], correlation[kind]);
        add(&counters->incomplete[kind], incomplete[kind]);
    }
    add(&counters->client[client % 8], all);
    for (uint32_t i = 0; i < FAKE_MAX_NAMES; i++)
        add(&counters->names[i], buffer->names[i]);
}

/* SASS metrics of the fake: each launch of a kernel counts at two instructions, see `pattern`.
 *
 * Where CUPTI was seen to hang, after some hundred launches whose kernels are recorded, the fake ends
 * the program; where it was seen to count nothing, as copies and sets are recorded, so does the fake.
 *
 * Environment, read when it is needed:
 *   FAKE_SASS_DROPPED=n   counts that CUPTI drops where counting ends
 *   FAKE_SASS_NOTHING=1   nothing is counted
 *
 * Errors that a machine gives can be asked for with FAKE_CUPTI_FAIL, such as
 * cuptiSassMetricsEnable=35. */
#include "fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 8, MOST = 16 };

static const char *const metrics[] = {
    "smsp__sass_inst_executed",
    "smsp__sass_thread_inst_executed",
    "smsp__sass_branch_targets_threads_divergent",
};
enum { METRICS = sizeof metrics / sizeof *metrics, FIRST_ID = 0x500 };

static const struct {
    uint32_t offset;
    uint64_t values[METRICS];
} pattern[] = {
    {0x10, {8, 256, 0}},
    {0x50, {4, 100, 2}},
};
enum { PATTERN = 2, HANGS_AFTER = 200 };

struct metric {
    uint64_t id;
    const char *name, *description;
};
struct properties {
    size_t size;
    void *private_data;
    const char *chip, *name;
    struct metric metric;
};
struct config {
    uint64_t id;
    uint8_t granularity;
};
struct set_config {
    size_t size;
    void *private_data;
    size_t count;
    struct config *configs;
    uint32_t device;
};
struct unset_config {
    size_t size;
    void *private_data;
    uint32_t device;
};
struct enable {
    size_t size;
    void *private_data, *context;
    uint8_t lazy;
};
struct disable {
    size_t size;
    void *private_data, *context;
    size_t dropped;
};
struct data_properties {
    size_t size;
    void *private_data, *context;
    size_t records, instances;
};
struct value {
    uint64_t id, value;
};
struct counted {
    size_t size;
    void *private_data;
    uint32_t crc, index;
    const char *name;
    uint32_t offset;
    struct value *values;
};
struct flush {
    size_t size;
    void *private_data, *context;
    size_t records, instances;
    struct counted *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ids[MOST];
static size_t id_count; /* 0: there is no configuration */
static void *enabled;
static uint64_t launches[FAKE_MAX_NAMES];
static uint64_t recorded_launches;
static bool were_seen[FAKE_MAX_NAMES], are_copies_recorded;
static const char *names[FAKE_MAX_NAMES];

bool sass_is_counted(void) {
    pthread_mutex_lock(&lock);
    bool is = enabled != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

static bool is_recorded(uint32_t kind) {
    for (unsigned i = 0; i < atomic_load(&subscriber_count); i++)
        if (atomic_load(&subscribers[i].kind_on[kind]) != 0)
            return true;
    return false;
}

void sass_launched(uint32_t name_index, const char *name) {
    pthread_mutex_lock(&lock);
    if (enabled != NULL) {
        launches[name_index % FAKE_MAX_NAMES]++;
        were_seen[name_index % FAKE_MAX_NAMES] = true;
        names[name_index % FAKE_MAX_NAMES] = name;
        are_copies_recorded |= is_recorded(KIND_MEMCPY) || is_recorded(KIND_MEMSET);
        if ((is_recorded(KIND_KERNEL) || is_recorded(KIND_CONCURRENT_KERNEL)) &&
            ++recorded_launches > HANGS_AFTER) {
            fprintf(stderr, "fake CUPTI: here it would hang\n");
            abort();
        }
    }
    pthread_mutex_unlock(&lock);
}

static size_t record_count(void) {
    size_t count = 0;
    for (unsigned i = 0; i < FAKE_MAX_NAMES; i++)
        count += were_seen[i] ? PATTERN : 0;
    return are_copies_recorded || getenv("FAKE_SASS_NOTHING") != NULL ? 0 : count;
}

#define SIZED(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))
#define BEGIN(type, last)                                                                          \
    ENTER();                                                                                       \
    if (params == NULL || params->size != SIZED(type, last))                                       \
        return INVALID_PARAMETER

API int cuptiSassMetricsGetProperties(struct properties *params);
API int cuptiSassMetricsGetProperties(struct properties *params) {
    BEGIN(properties, metric);
    if (params->chip == NULL || params->name == NULL)
        return INVALID_PARAMETER;
    for (unsigned i = 0; i < METRICS; i++)
        if (strcmp(metrics[i], params->name) == 0) {
            params->metric = (struct metric){FIRST_ID + i, metrics[i], "a count of the fake"};
            return OK;
        }
    return INVALID_PARAMETER;
}

API int cuptiSassMetricsSetConfig(struct set_config *params);
API int cuptiSassMetricsSetConfig(struct set_config *params) {
    BEGIN(set_config, device);
    if (params->count == 0 || params->count > MOST)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    int result = id_count == 0 ? OK : INVALID_OPERATION;
    for (size_t i = 0; result == OK && i < params->count; i++) {
        ids[i] = params->configs[i].id;
        if (ids[i] < FIRST_ID || ids[i] >= FIRST_ID + METRICS || params->configs[i].granularity != 0)
            result = INVALID_PARAMETER;
    }
    if (result == OK)
        id_count = params->count;
    pthread_mutex_unlock(&lock);
    return result;
}

API int cuptiSassMetricsUnsetConfig(struct unset_config *params);
API int cuptiSassMetricsUnsetConfig(struct unset_config *params) {
    BEGIN(unset_config, device);
    pthread_mutex_lock(&lock);
    int result = id_count != 0 ? OK : INVALID_OPERATION;
    id_count = 0;
    pthread_mutex_unlock(&lock);
    return result;
}

API int cuptiSassMetricsEnable(struct enable *params);
API int cuptiSassMetricsEnable(struct enable *params) {
    BEGIN(enable, lazy);
    pthread_mutex_lock(&lock);
    int result = id_count != 0 && enabled == NULL && params->context != NULL ? OK
                                                                           : INVALID_OPERATION;
    if (result == OK)
        enabled = params->context;
    pthread_mutex_unlock(&lock);
    return result;
}

API int cuptiSassMetricsGetDataProperties(struct data_properties *params);
API int cuptiSassMetricsGetDataProperties(struct data_properties *params) {
    BEGIN(data_properties, instances);
    pthread_mutex_lock(&lock);
    int result = enabled != NULL && enabled == params->context ? OK : INVALID_OPERATION;
    params->records = record_count();
    params->instances = 1;
    pthread_mutex_unlock(&lock);
    return result;
}

static void fill(struct counted *record, unsigned name, unsigned which) {
    record->crc = 0xc0bea5u;
    record->index = name;
    record->name = names[name];
    record->offset = pattern[which].offset;
    for (size_t i = 0; i < id_count; i++)
        record->values[i] = (struct value){
            ids[i], pattern[which].values[ids[i] - FIRST_ID] * launches[name]};
}

API int cuptiSassMetricsFlushData(struct flush *params);
API int cuptiSassMetricsFlushData(struct flush *params) {
    BEGIN(flush, instances);
    pthread_mutex_lock(&lock);
    size_t n = 0;
    int result = enabled != NULL && params->data != NULL ? OK : INVALID_OPERATION;
    for (unsigned name = 0; result == OK && name < FAKE_MAX_NAMES; name++) {
        if (!were_seen[name])
            continue;
        for (unsigned which = 0; which < PATTERN && n < params->records; which++)
            fill(&params->data[n++], name, which);
        launches[name] = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

API int cuptiSassMetricsDisable(struct disable *params);
API int cuptiSassMetricsDisable(struct disable *params) {
    BEGIN(disable, dropped);
    const char *dropped = getenv("FAKE_SASS_DROPPED");
    pthread_mutex_lock(&lock);
    int result = enabled != NULL && enabled == params->context ? OK : INVALID_OPERATION;
    if (result == OK)
        enabled = NULL;
    params->dropped = dropped != NULL ? strtoull(dropped, NULL, 0) : 0;
    pthread_mutex_unlock(&lock);
    return result;
}

/* PC sampling of the fake: each launch of a kernel is found at three instructions, see `pattern`.
 *
 * Environment, read when it is needed:
 *   FAKE_PCS_NOT_USER=n   each launch has n samples in kernels that are not the program's
 *   FAKE_PCS_DROPPED=n    and n that the hardware drops
 *   FAKE_PCS_LEFT_OUT=n   and n of instructions without a reason, which are in no record
 *   FAKE_PCS_FULL_AT=n    the hardware's buffer is full at the n-th collection
 *   FAKE_PCS_TAIL=1       collections give nothing, and all comes when sampling is disabled
 *   FAKE_PCS_PIECE=n      a collection gives n PCs, and says how many are left, whose samples are
 *                         in its total already, and in no later one
 *   FAKE_CUPTI_LOG=folder PID.pcs: a line for each call
 *
 * Errors that a machine gives can be asked for with FAKE_CUPTI_FAIL, such as
 * cuptiPCSamplingEnable=35. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_OF_MEMORY = 8, NAME_BYTES = 128, CONTEXTS = 8 };
enum { PERIOD = 1, MODE = 5, START_STOP = 6, DATA_BUFFER = 8 };

struct head {
    size_t size;
    void *private_data, *context;
};
struct attribute {
    int type, status;
    union {
        uint64_t all[3];
        uint32_t number;
        struct data *buffer;
    } value;
};
struct configuration {
    struct head head;
    size_t count;
    struct attribute *attributes;
};
struct get_data {
    struct head head;
    struct data *data;
};
struct count_reasons {
    struct head head;
    size_t *count;
};
struct reasons {
    struct head head;
    size_t count;
    uint32_t *indices;
    char **names;
};
struct crc {
    size_t size, bytes;
    const uint8_t *cubin;
    uint64_t crc;
};
struct stall {
    uint32_t reason, samples;
};
struct pc { /* packed in CUPTI, which leaves no gap either */
    size_t size;
    uint64_t crc, offset;
    uint32_t function, pad;
    const char *name;
    size_t stall_count;
    struct stall *stalls;
    uint32_t correlation;
};
struct data {
    size_t size, room;
    uint64_t total, dropped;
    size_t count, remaining;
    uint64_t range;
    struct pc *pcs;
    uint64_t not_user;
    uint8_t full;
};
_Static_assert(sizeof(struct pc) == 64 && sizeof(struct data) == 80, "as in CUPTI");

/* Their indices are not their order, as with CUPTI. */
static const struct {
    uint32_t index;
    const char *name;
} reasons[] = {
    {0, "smsp__pcsamp_sample_buffer_full"},
    {7, "smsp__pcsamp_warps_issue_stalled_long_scoreboard"},
    {8, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"},
    {3, "smsp__pcsamp_warps_issue_stalled_selected"},
};
enum { REASONS = sizeof reasons / sizeof *reasons, NOT_ISSUED = 8 };

/* What a launch adds. */
static const struct {
    uint64_t offset;
    struct stall stalls[2];
} pattern[] = {
    {0x10, {{7, 4}, {8, 2}}},
    {0x50, {{3, 1}, {7, 0}}},
    {0x2c0, {{7, 2}, {3, 3}}},
};
enum { PATTERN = sizeof pattern / sizeof *pattern, PATTERN_SAMPLES = 10 };
/* Of all that the program launches. */
static const uint8_t cubin[] = "\x7f" "ELF a cubin of the fake";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context {
    void *handle;
    bool enabled, configured, switched, running, serialized;
    uint64_t owed; /* samples that were told of and not given */
    struct data *buffer;
    uint64_t pending[FAKE_MAX_NAMES]; /* launches, by name, that no collection has told of */
    uint64_t other;                   /* launches whose other samples are not told of */
    uint32_t correlation;
    uint64_t collections;
} contexts[CONTEXTS];

static const char *names[FAKE_MAX_NAMES]; /* of kernels, as the driver gave them */

static uint64_t option(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : 0;
}

static void note(const char *what, uint64_t a, uint64_t b) {
    char path[512];
    if (options.log == NULL)
        return;
    snprintf(path, sizeof path, "%s/%d.pcs", options.log, (int)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file >= 0) {
        dprintf(file, "%s %llu %llu\n", what, (unsigned long long)a, (unsigned long long)b);
        close(file);
    }
}

static struct context *find(const void *handle) {
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (contexts[i].enabled && contexts[i].handle == handle)
            return &contexts[i];
    return NULL;
}

bool pcs_are_sampled(void) {
    pthread_mutex_lock(&lock);
    bool any = false;
    for (unsigned i = 0; i < CONTEXTS; i++)
        any = any || contexts[i].enabled;
    pthread_mutex_unlock(&lock);
    return any;
}

void pcs_tell_of_module(uint64_t context) {
    enum { MODULE_LOADED = 6 };
    const struct { /* CUpti_ModuleResourceData */
        uint32_t id;
        size_t size;
        const uint8_t *cubin;
    } module = {1, sizeof cubin, cubin};
    if (pcs_are_sampled() || sass_is_counted())
        call_back_resource(MODULE_LOADED, context, 0, &module);
}

/* With the kind KERNEL, which serializes, CUPTI samples nothing. */
static bool is_serialized(void) {
    bool any = false;
    for (unsigned i = 0; i < atomic_load(&subscriber_count); i++)
        any = any || atomic_load(&subscribers[i].kind_on[KIND_KERNEL]);
    return any;
}

void pcs_launched(uint32_t name_index, const char *name, uint32_t correlation) {
    pthread_mutex_lock(&lock);
    struct context *context = &contexts[0];
    if (context->enabled && context->running && !is_serialized()) {
        context->pending[name_index % FAKE_MAX_NAMES]++;
        names[name_index % FAKE_MAX_NAMES] = name;
        context->other++;
        context->correlation = correlation;
    }
    pthread_mutex_unlock(&lock);
}

static void fill_pc(const struct context *context, struct pc *pc, uint32_t name, unsigned which,
                    uint64_t launches, uint64_t *total) {
    pc->crc = 0xc0bea5u;
    pc->offset = pattern[which].offset;
    pc->function = name;
    pc->name = names[name];
    pc->correlation = context->serialized ? context->correlation : 0;
    pc->stall_count = 0;
    for (unsigned i = 0; i < 2; i++) {
        const struct stall *stall = &pattern[which].stalls[i];
        if (stall->samples == 0)
            continue;
        pc->stalls[pc->stall_count++] =
            (struct stall){stall->reason, (uint32_t)(stall->samples * launches)};
        /* What was not issued is counted by its reason already (seen on an H200). */
        if (stall->reason != NOT_ISSUED)
            *total += stall->samples * launches;
    }
}

/* Whole kernels, as many as there is room for. */
static void take(struct context *context, struct data *data) {
    uint64_t piece = option("FAKE_PCS_PIECE"), stored = 0, owed = 0;
    size_t room = piece != 0 && piece < data->room ? piece : data->room;
    data->count = data->remaining = 0;
    data->full = 0;
    for (uint32_t name = 0; name < FAKE_MAX_NAMES; name++) {
        if (context->pending[name] == 0)
            continue;
        if (data->count + PATTERN > room) {
            data->remaining += PATTERN;
            owed += context->pending[name] * PATTERN_SAMPLES;
            continue;
        }
        for (unsigned i = 0; i < PATTERN; i++)
            fill_pc(context, &data->pcs[data->count++], name, i, context->pending[name], &stored);
        context->pending[name] = 0;
    }
    data->dropped = context->other * option("FAKE_PCS_DROPPED");
    data->not_user = context->other * option("FAKE_PCS_NOT_USER");
    data->total = stored + owed - context->owed + data->dropped + data->not_user +
                  context->other * option("FAKE_PCS_LEFT_OUT");
    context->owed = owed;
    context->other = 0;
    note("data", data->total, stored);
}

static bool has_sizes(const struct data *data) {
    return data != NULL && data->size == sizeof *data && data->room != 0 && data->pcs != NULL &&
           data->pcs[0].size == sizeof(struct pc) && data->pcs[data->room - 1].stalls != NULL;
}

#define BEGIN(params, last)                                                                        \
    ENTER();                                                                                       \
    if ((params) == NULL ||                                                                        \
        ((const struct head *)(params))->size !=                                                   \
            offsetof(__typeof__(*(params)), last) + sizeof((params)->last) ||                      \
        ((const struct head *)(params))->context == NULL)                                          \
        return INVALID_PARAMETER;                                                                  \
    pthread_mutex_lock(&lock);                                                                     \
    struct context *context = find(((const struct head *)(params))->context);                      \
    int result = context != NULL ? OK : INVALID_OPERATION

#define END                                                                                        \
    pthread_mutex_unlock(&lock);                                                                   \
    return result

API int cuptiPCSamplingEnable(struct head *params);
API int cuptiPCSamplingEnable(struct head *params) {
    BEGIN(params, context);
    result = context != NULL ? INVALID_OPERATION : MAX_LIMIT_REACHED;
    for (unsigned i = 0; context == NULL && i < CONTEXTS && result != OK; i++)
        if (!contexts[i].enabled) {
            contexts[i] = (struct context){.handle = params->context, .enabled = true};
            result = OK;
        }
    note("enable", (uintptr_t)params->context, 0);
    END;
}

API int cuptiPCSamplingDisable(struct head *params);
API int cuptiPCSamplingDisable(struct head *params) {
    BEGIN(params, context);
    if (result == OK) {
        if (context->buffer != NULL)
            take(context, context->buffer);
        context->enabled = false;
        note("disable", (uintptr_t)params->context, 0);
    }
    END;
}

/* A real CUPTI waits for ever where another thread launches (seen on an H200). */
static int switch_to(struct context *context, bool on) {
    if (!is_in_call())
        return UNKNOWN_ERROR;
    if (!context->configured || !context->switched || context->running == on)
        return INVALID_OPERATION;
    context->running = on;
    note(on ? "start" : "stop", 0, 0);
    return OK;
}

API int cuptiPCSamplingStart(struct head *params);
API int cuptiPCSamplingStart(struct head *params) {
    BEGIN(params, context);
    if (result == OK)
        result = switch_to(context, true);
    END;
}

API int cuptiPCSamplingStop(struct head *params);
API int cuptiPCSamplingStop(struct head *params) {
    BEGIN(params, context);
    if (result == OK)
        result = switch_to(context, false);
    END;
}

static int set(struct context *context, const struct attribute *attribute) {
    switch (attribute->type) {
    case PERIOD:
        note("period", attribute->value.number, 0);
        return attribute->value.number >= 5 && attribute->value.number <= 31 ? OK
                                                                            : INVALID_OPERATION;
    case MODE:
        context->serialized = attribute->value.number == 2;
        return attribute->value.number == 1 || context->serialized ? OK : INVALID_OPERATION;
    case START_STOP:
        context->switched = attribute->value.number != 0;
        return OK;
    case DATA_BUFFER:
        context->buffer = attribute->value.buffer;
        return has_sizes(context->buffer) ? OK : INVALID_OPERATION;
    default:
        return INVALID_PARAMETER;
    }
}

API int cuptiPCSamplingSetConfigurationAttribute(struct configuration *params);
API int cuptiPCSamplingSetConfigurationAttribute(struct configuration *params) {
    BEGIN(params, attributes);
    for (size_t i = 0; result == OK && i < params->count; i++)
        result = params->attributes[i].status = set(context, &params->attributes[i]);
    if (result == OK) {
        context->configured = true;
        context->running = !context->switched;
    }
    END;
}

API int cuptiPCSamplingGetNumStallReasons(struct count_reasons *params);
API int cuptiPCSamplingGetNumStallReasons(struct count_reasons *params) {
    BEGIN(params, count);
    if (result == OK)
        *params->count = REASONS;
    END;
}

API int cuptiPCSamplingGetStallReasons(struct reasons *params);
API int cuptiPCSamplingGetStallReasons(struct reasons *params) {
    BEGIN(params, names);
    if (result == OK && params->count != REASONS)
        result = INVALID_PARAMETER;
    for (size_t i = 0; result == OK && i < REASONS; i++) {
        params->indices[i] = reasons[i].index;
        snprintf(params->names[i], NAME_BYTES, "%s", reasons[i].name);
    }
    END;
}

API int cuptiPCSamplingGetData(struct get_data *params);
API int cuptiPCSamplingGetData(struct get_data *params) {
    BEGIN(params, data);
    if (result == OK && (!context->configured || !has_sizes(params->data)))
        result = INVALID_PARAMETER;
    if (result == OK) {
        struct data *data = params->data;
        if (++context->collections == option("FAKE_PCS_FULL_AT")) {
            memset(context->pending, 0, sizeof context->pending);
            context->other = 0;
            data->full = 1;
            data->count = 0;
            result = OUT_OF_MEMORY;
        } else if (option("FAKE_PCS_TAIL") != 0) {
            data->count = data->remaining = 0;
            data->total = data->dropped = data->not_user = 0;
        } else {
            take(context, data);
        }
    }
    END;
}

API int cuptiGetCubinCrc(struct crc *params);
API int cuptiGetCubinCrc(struct crc *params) {
    ENTER();
    if (params == NULL || params->size != sizeof *params || params->cubin == NULL)
        return INVALID_PARAMETER;
    params->crc = params->cubin == cubin ? 0xc0bea5u : params->bytes;
    return OK;
}

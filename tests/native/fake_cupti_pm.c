/* PM sampling of the fake: a clock that makes samples, a hardware buffer that can run over, and
 * counter data that can be full, as they were seen on an H200.
 *
 * Environment, read when it is needed:
 *   FAKE_PM_BUFFER=n        samples that the hardware's buffer holds; otherwise by its size
 *   FAKE_PM_OVERFLOW_AT=n   at the n-th decode the buffer has run over
 *   FAKE_PM_FULL_AT=n       the n-th decode gives half, and says that the image is full
 *   FAKE_PM_FULL_FOREVER=1  then samples have no times until the next start (seen on an H100)
 *   FAKE_PM_LOST_AT=n       from the n-th decode on every call answers 999
 *   FAKE_PM_HANG_AT=n       the n-th decode does not return
 *   FAKE_PM_KILL_AT=n       the n-th decode ends the process with SIGKILL
 *   FAKE_PM_AFTER=file      these three count from when the file exists
 *   FAKE_PM_DECODE_NS=n     cost of a sample (busy)
 *   FAKE_PM_DEVICE=n        all of these concern device n alone
 *   FAKE_CUPTI_LOG=folder   PID.pm: a line for each start, decode and stop
 *
 * A sample says how busy the device was (load): the microseconds of its start, modulo 1000,
 * a thousandth each.  Devices can be made to fail with FAKE_CUPTI_FAIL, for instance
 * cuptiPmSamplingEnable:1=26 for device 1. */
#define _GNU_SOURCE
#include "fake_pm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RAN_OVER = 8, DEVICES = 16, HARDWARE_BYTES_A_SAMPLE = 6000 };
enum { FULL = 1, END_OF_RECORDS = 2 };

struct config_params {
    struct params head;
    void *object;
    size_t config_size;
    const uint8_t *config;
    size_t buffer_size;
    uint64_t interval;
    int trigger, append;
};
struct enable_params {
    struct params head;
    size_t device;
    void *object;
};
struct object_params {
    struct params head;
    void *object;
};
struct decode_params {
    struct params head;
    void *object;
    uint8_t *image;
    size_t image_size;
    int reason;
    uint8_t overflow;
};
struct availability_params {
    struct params head;
    size_t device, image_size;
    uint8_t *image;
};
struct data_size_params {
    struct params head;
    void *object;
    const char **metrics;
    size_t count;
    uint32_t samples;
    size_t data_size;
};
struct data_params {
    struct params head;
    void *object;
    size_t data_size;
    uint8_t *data;
};
struct info_params {
    struct params head;
    const uint8_t *image;
    size_t image_size, total, populated, completed;
};
struct sample_params {
    struct params head;
    void *object;
    const uint8_t *image;
    size_t image_size, index;
    uint64_t start, end;
};

static struct device {
    size_t number;
    bool enabled, configured, running, overflowed, lost, first, is_dry;
    size_t capacity;   /* of the hardware's buffer, in samples */
    size_t slot_size;  /* of the metrics that a size was asked for */
    uint64_t interval;
    uint64_t start_ns; /* of the sample that is decoded next */
    uint64_t stop_ns;
    uint64_t decodes, turns; /* turns: of what FAKE_PM_AFTER counts */
} devices[DEVICES];

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *what, const struct device *device, uint64_t a, uint64_t b, uint64_t c) {
    char path[512];
    if (options.log == NULL)
        return;
    snprintf(path, sizeof path, "%s/%d.pm", options.log, (int)getpid());
    pthread_mutex_lock(&log_lock);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file >= 0) {
        dprintf(file, "%s %zu %llu %llu %llu\n", what, device->number, (unsigned long long)a,
                (unsigned long long)b, (unsigned long long)c);
        close(file);
    }
    pthread_mutex_unlock(&log_lock);
}

static uint64_t option(const char *name, const struct device *device) {
    const char *only = getenv("FAKE_PM_DEVICE"), *text = getenv(name);
    if (only != NULL && *only != '\0' && strtoul(only, NULL, 0) != device->number)
        return 0;
    return text != NULL ? strtoull(text, NULL, 0) : 0;
}

#define CHECK_PARAMS(params, ...)                                                                  \
    do {                                                                                           \
        ENTER();                                                                                   \
        if (!is_params(params, (const struct params_size[]){__VA_ARGS__, {0, 0}}))                 \
            return INVALID_PARAMETER;                                                              \
        if (!profiler_initialized())                                                               \
            return NOT_INITIALIZED;                                                                \
    } while (0)
#define CHECK_OBJECT(params)                                                                       \
    struct device *device = (params)->object;                                                      \
    do {                                                                                           \
        if (device < devices || device >= devices + DEVICES || !device->enabled)                   \
            return INVALID_PARAMETER;                                                              \
        if (device->lost)                                                                          \
            return UNKNOWN_ERROR;                                                                  \
    } while (0)

API int cuptiPmSamplingGetCounterAvailability(struct availability_params *params);
API int cuptiPmSamplingGetCounterAvailability(struct availability_params *params) {
    CHECK_PARAMS(params, {24, 40});
    ENTER_WITH(params->device);
    if (params->image == NULL) {
        params->image_size = sizeof(struct availability);
        return OK;
    }
    if (params->image_size < sizeof(struct availability))
        return SIZE_NOT_SUFFICIENT;
    struct availability image = {AVAILABILITY_MAGIC, fake_has_links()};
    memcpy(params->image, &image, sizeof image);
    return OK;
}

API int cuptiPmSamplingEnable(struct enable_params *params);
API int cuptiPmSamplingEnable(struct enable_params *params) {
    CHECK_PARAMS(params, {24, 32});
    ENTER_WITH(params->device);
    if (params->device >= DEVICES || devices[params->device].enabled)
        return INVALID_OPERATION;
    devices[params->device] = (struct device){.number = params->device, .enabled = true};
    params->object = &devices[params->device];
    return OK;
}

API int cuptiPmSamplingSetConfig(struct config_params *params);
API int cuptiPmSamplingSetConfig(struct config_params *params) {
    CHECK_PARAMS(params, {24, 60}, {26, 64});
    CHECK_OBJECT(params);
    ENTER_WITH(device->number);
    const struct config *config = (const void *)params->config;
    if (config == NULL || config->magic != CONFIG_MAGIC || config->profiler_type != 1 ||
        params->interval == 0 || device->running)
        return INVALID_PARAMETER;
    if (config->passes != 1)
        return NOT_SUPPORTED;
    device->interval = params->interval;
    device->capacity = option("FAKE_PM_BUFFER", device);
    if (device->capacity == 0)
        device->capacity = params->buffer_size / HARDWARE_BYTES_A_SAMPLE;
    device->configured = true;
    return OK;
}

API int cuptiPmSamplingGetCounterDataSize(struct data_size_params *params);
API int cuptiPmSamplingGetCounterDataSize(struct data_size_params *params) {
    CHECK_PARAMS(params, {24, 56});
    CHECK_OBJECT(params);
    if (params->count == 0 || params->samples == 0)
        return INVALID_PARAMETER;
    device->slot_size = sample_bytes(params->metrics, params->count);
    params->data_size = sizeof(struct counter_data) + params->samples * device->slot_size;
    return OK;
}

API int cuptiPmSamplingCounterDataImageInitialize(struct data_params *params);
API int cuptiPmSamplingCounterDataImageInitialize(struct data_params *params) {
    CHECK_PARAMS(params, {24, 40});
    CHECK_OBJECT(params);
    if (device->slot_size == 0 || params->data_size < sizeof(struct counter_data))
        return INVALID_PARAMETER;
    struct counter_data head = {
        .magic = COUNTER_DATA_MAGIC,
        .slot_size = device->slot_size,
        .max_samples = (params->data_size - sizeof head) / device->slot_size,
    };
    memset(params->data, 0, params->data_size);
    memcpy(params->data, &head, sizeof head);
    return OK;
}

API int cuptiPmSamplingStart(struct object_params *params);
API int cuptiPmSamplingStart(struct object_params *params) {
    CHECK_PARAMS(params, {24, 24});
    CHECK_OBJECT(params);
    ENTER_WITH(device->number);
    if (!device->configured || device->running)
        return INVALID_OPERATION;
    device->running = true;
    device->overflowed = device->is_dry = false;
    device->first = true;
    device->start_ns = now_ns();
    device->stop_ns = 0;
    note("start", device, device->start_ns, device->interval, 0);
    return OK;
}

API int cuptiPmSamplingStop(struct object_params *params);
API int cuptiPmSamplingStop(struct object_params *params) {
    CHECK_PARAMS(params, {24, 24});
    CHECK_OBJECT(params);
    if (!device->running)
        return INVALID_OPERATION;
    device->running = false;
    device->stop_ns = now_ns();
    note("stop", device, device->stop_ns, 0, 0);
    return OK;
}

API int cuptiPmSamplingDisable(struct object_params *params);
API int cuptiPmSamplingDisable(struct object_params *params) {
    CHECK_PARAMS(params, {24, 24});
    CHECK_OBJECT(params);
    device->enabled = false;
    return OK;
}

static bool put_sample(struct counter_data *data, uint64_t start, uint64_t begin, uint64_t end) {
    if (data->populated == data->max_samples)
        return false;
    uint8_t *slot = (uint8_t *)(data + 1) + data->populated * data->slot_size;
    struct sample_slot sample = {begin, end, (double)(start / 1000 % 1000) / 1000.0};
    memset(slot, 0x5a, data->slot_size); /* a restore must clear it */
    memcpy(slot, &sample, sizeof sample);
    data->completed = ++data->populated;
    return true;
}

static void spend(uint64_t ns) {
    for (uint64_t end = now_ns() + ns; now_ns() < end;)
        ;
}

static int misbehave(struct device *device) {
    const char *after = getenv("FAKE_PM_AFTER");
    if (after != NULL && device->turns == 0 && access(after, F_OK) != 0)
        return OK;
    uint64_t turn = ++device->turns;
    if (option("FAKE_PM_KILL_AT", device) == turn)
        kill(getpid(), SIGKILL);
    while (option("FAKE_PM_HANG_AT", device) == turn)
        sleep(1);
    uint64_t lost = option("FAKE_PM_LOST_AT", device);
    device->lost = lost != 0 && turn >= lost;
    return device->lost ? UNKNOWN_ERROR : OK;
}

API int cuptiPmSamplingDecodeData(struct decode_params *params);
API int cuptiPmSamplingDecodeData(struct decode_params *params) {
    CHECK_PARAMS(params, {24, 45});
    CHECK_OBJECT(params);
    ENTER_WITH(device->number);
    struct counter_data *data = (void *)params->image;
    if (data == NULL || data->magic != COUNTER_DATA_MAGIC || data->slot_size != device->slot_size)
        return INVALID_PARAMETER;
    device->decodes++;
    if (misbehave(device) != OK)
        return UNKNOWN_ERROR;
    uint64_t until = device->running ? now_ns() : device->stop_ns;
    uint64_t ready = until > device->start_ns ? (until - device->start_ns) / device->interval : 0;
    bool is_full = option("FAKE_PM_FULL_AT", device) == device->decodes;
    if (device->overflowed)
        ready = 0; /* nothing more was written */
    if (ready > device->capacity)
        ready = device->capacity, device->overflowed = true;
    if (option("FAKE_PM_OVERFLOW_AT", device) == device->decodes)
        device->overflowed = true;
    uint64_t wanted = is_full ? ready / 2 : ready, first = device->start_ns, done = 0;
    for (; done < wanted; done++) {
        uint64_t start = device->start_ns;
        if (device->is_dry ? !put_sample(data, start, 0, 0)
                           : !put_sample(data, start, device->first ? 0 : start, start + device->interval))
            break;
        device->first = false;
        device->start_ns += device->interval;
    }
    is_full = is_full || done < wanted;
    /* A full image loses what did not fit. */
    device->start_ns += (ready - done) * device->interval;
    if (device->is_dry)
        done = 0; /* nothing that a client could know of */
    device->is_dry = device->is_dry || (is_full && option("FAKE_PM_FULL_FOREVER", device));
    if (!device->running && done > 0)
        put_sample(data, device->start_ns, device->start_ns, device->start_ns);
    spend(done * option("FAKE_PM_DECODE_NS", device));
    note("decode", device, first, done, (uint64_t)is_full | (uint64_t)device->overflowed << 1);
    params->reason = is_full ? FULL : END_OF_RECORDS;
    params->overflow = device->overflowed;
    return device->overflowed ? RAN_OVER : OK;
}

API int cuptiPmSamplingGetCounterDataInfo(struct info_params *params);
API int cuptiPmSamplingGetCounterDataInfo(struct info_params *params) {
    CHECK_PARAMS(params, {24, 56});
    const struct counter_data *data = (const void *)params->image;
    params->total = data->max_samples;
    params->populated = params->completed = data->completed;
    return OK;
}

API int cuptiPmSamplingCounterDataGetSampleInfo(struct sample_params *params);
API int cuptiPmSamplingCounterDataGetSampleInfo(struct sample_params *params) {
    CHECK_PARAMS(params, {24, 64});
    const struct counter_data *data = (const void *)params->image;
    struct sample_slot sample;
    if (params->index >= data->completed)
        return INVALID_PARAMETER;
    memcpy(&sample, (const uint8_t *)(data + 1) + params->index * data->slot_size, sizeof sample);
    params->start = sample.start;
    params->end = sample.end;
    return OK;
}

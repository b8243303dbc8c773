/* A libnvidia-ml.so.1 of two GPUs that counts for GPM: FAKE_NVML is what the second one lacks
 * ("gpm"), or what fails of it ("sample", after three samples; "metrics"). */
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
enum { OK = 0, NOT_SUPPORTED = 3, LOST = 15, GPUS = 2 };

struct value {
    unsigned metric, result;
    double value;
    const char *names[3];
};
struct get {
    unsigned version, count;
    const int *first, *second;
    struct value values[16];
};

static int devices[GPUS] = {0, 1}, samples[GPUS];

static int fails(const int *device, const char *how) {
    const char *wanted = getenv("FAKE_NVML");
    return *device == 1 && wanted && strcmp(wanted, how) == 0;
}

API int nvmlInit_v2(void);
API int nvmlInit_v2(void) {
    return OK;
}

API const char *nvmlErrorString(int result);
API const char *nvmlErrorString(int result) {
    return result == LOST ? "GPU is lost" : "Not Supported";
}

API int nvmlDeviceGetCount_v2(unsigned *count);
API int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = GPUS;
    return OK;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, int **device);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, int **device) {
    *device = &devices[index];
    return OK;
}

API int nvmlDeviceGetUUID(const int *device, char *text, unsigned length);
API int nvmlDeviceGetUUID(const int *device, char *text, unsigned length) {
    strncpy(text, "GPU-fa4e0000-0000-0000-0000-000000000000", length);
    text[39] = (char)('0' + *device);
    return OK;
}

API int nvmlDeviceGetName(const int *device, char *text, unsigned length);
API int nvmlDeviceGetName(const int *device, char *text, unsigned length) {
    (void)device;
    strncpy(text, "Fake H200", length);
    return OK;
}

API int nvmlGpmQueryDeviceSupport(const int *device, unsigned *support);
API int nvmlGpmQueryDeviceSupport(const int *device, unsigned *support) {
    if (support[0] != 1)
        return NOT_SUPPORTED;
    support[1] = !fails(device, "gpm");
    return OK;
}

API int nvmlGpmSampleAlloc(int **sample);
API int nvmlGpmSampleAlloc(int **sample) {
    *sample = calloc(2, sizeof **sample);
    return *sample ? OK : NOT_SUPPORTED;
}

/* Of which GPU it is, and its number there. */
API int nvmlGpmSampleGet(const int *device, int *sample);
API int nvmlGpmSampleGet(const int *device, int *sample) {
    if (fails(device, "sample") && samples[*device] > 3)
        return LOST;
    sample[0] = *device;
    sample[1] = ++samples[*device];
    return OK;
}

/* As many percent, or MiB/s, as the metric's number; a tenth more on the second GPU. */
API int nvmlGpmMetricsGet(struct get *get);
API int nvmlGpmMetricsGet(struct get *get) {
    if (get->version != 1 || get->first[0] != get->second[0] || get->first[1] + 1 != get->second[1])
        return NOT_SUPPORTED;
    for (unsigned i = 0; i < get->count; i++) {
        get->values[i].value = get->values[i].metric + get->first[0] / 10.0;
        get->values[i].result = fails(get->first, "metrics") ? NOT_SUPPORTED : OK;
    }
    return OK;
}

/* What the two halves of the fake's PM sampling share: fake_cupti_profiler.c, which plays the
 * profiler host, and fake_cupti_pm*.c, which play the sampling.
 *
 * Environment, read when it is needed:
 *   FAKE_PM_CHIP=name       the chip of every device; GH100
 *   FAKE_PM_LINKS=1         the devices have NVLink and C2C: their metrics are available
 */
#ifndef FAKE_PM_H
#define FAKE_PM_H

#include "fake_cupti.h"

enum {
    HARDWARE_BUSY = 26,
    INSUFFICIENT_PRIVILEGES = 35,
    INVALID_METRIC_NAME = 17,
    INVALID_CHIP_NAME = 46,
};

/* Every function takes a struct that begins so; see PARAMS. */
struct params {
    size_t size;
    void *private_data;
};

/* Whether a struct has a size that this release takes: its own, or that of a release before.
 * `sizes` are {first API version, size} in ascending order and end with {0, 0}. */
struct params_size {
    uint32_t since;
    size_t size;
};
bool is_params(const void *params, const struct params_size *sizes);

/* A counter data image: this header, then max_samples slots of slot_size bytes each. */
#define COUNTER_DATA_MAGIC 0x54414454434b4146ull /* "FAKCTDAT" */
struct counter_data {
    uint64_t magic;
    uint64_t slot_size, max_samples;
    uint64_t populated, completed; /* slots that hold something; that hold a whole sample */
};
struct sample_slot { /* the beginning of a slot */
    uint64_t start, end; /* ns */
    double load;         /* 0 .. 1: how busy the device was; all values derive from it */
};

/* An availability image. */
#define AVAILABILITY_MAGIC 0x4c49415641434b46ull /* "FKCAVAIL" */
struct availability {
    uint64_t magic;
    uint64_t has_links;
};

/* A configuration: this header, then the metrics' names, each with its zero. */
#define CONFIG_MAGIC 0x47464e4f434b4146ull /* "FAKCONFG" */
struct config {
    uint64_t magic;
    uint64_t size; /* of it all */
    uint64_t passes, metrics;
    uint64_t profiler_type; /* 0 range, 1 PM sampling */
};

/* fake_cupti_ranges.c */
double range_value(const char *metric, double value);

/* fake_cupti_profiler.c */
const char *fake_chip(void);
bool fake_has_links(void);
bool profiler_initialized(void); /* cuptiProfilerInitialize was called */
/* Whether the chip has the metric and the rollup is one that it has. */
bool is_metric(const char *chip, const char *name);
/* Bytes of counter data that one sample of these metrics takes. */
size_t sample_bytes(const char *const *metrics, size_t count);
/* What the metric is worth in a slot: see fake_cupti_profiler.c. */
double metric_value(const char *metric, const struct sample_slot *slot);

#endif

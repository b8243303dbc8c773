/* Inside the fake's profiler host. */
#ifndef FAKE_PROFILER_H
#define FAKE_PROFILER_H

#include "fake_pm.h"

struct base_metric { /* generated from the facts */
    const char *name;
    int type;
};
extern const struct base_metric fake_base_metrics[];
extern const size_t fake_base_metric_count;
extern const char *const fake_chips[], *const fake_set_metrics[];
extern const size_t fake_chip_count, fake_set_metric_count;

enum { COUNTER, RATIO, THROUGHPUT };
enum { MAX_METRICS = 1024, HARDWARE_PER_PASS = 96, MAX_ENDINGS = 32, ENDING_SIZE = 64 };
#define SET "TriageCompute"
#define EMPTY_SET "Compute_Triage"
#define DETAIL_CHIP "GH100" /* the one with sets */

/* fake_cupti_metrics.c */
const char *known_chip(const char *name); /* NULL: none knows it */
bool on_chip(const char *chip, const struct base_metric *base);
bool needs_links(const char *name);
/* The base metric of a name, with or without a rollup; *rollup is what follows it. */
const struct base_metric *find_base(const char *chip, const char *name, const char **rollup);
/* All rollups of a type; the number of them. */
size_t endings(int type, char (*out)[ENDING_SIZE]);
/* The unit of a metric: "sm" of "TPC.TriageCompute.sm__cycles_active.sum"; its length. */
size_t unit_of(const char *name, const char **unit);
size_t passes_for(const char *const *metrics, size_t count);

#define HOST_MAGIC 0x54534f48454b4146ull /* "FAKEHOST" */
struct host {
    uint64_t magic;
    bool spoilt, has_links;
    const char *chip; /* one of fake_chips */
    int profiler_type;
    size_t count;
    char *metrics[MAX_METRICS];
    const char **names; /* of the last list that was asked for */
};
struct host *host_of(void *object); /* NULL: it is none */

#define PARAMS(params, ...)                                                                        \
    do {                                                                                           \
        ENTER();                                                                                   \
        if (!is_params(params, (const struct params_size[]){__VA_ARGS__, {0, 0}}))                 \
            return INVALID_PARAMETER;                                                              \
    } while (0)
#define HOST(host, object)                                                                         \
    struct host *host = host_of(object);                                                           \
    if (host == NULL)                                                                              \
        return INVALID_PARAMETER;                                                                  \
    if (host->spoilt)                                                                              \
        return UNKNOWN_ERROR
#define SPOIL(host, code) return (host)->spoilt = true, (code)

#endif

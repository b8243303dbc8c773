/* The profiler host of the fake: the object, what it tells of metrics, and their values.
 *
 * A metric that is refused spoils the host object: whatever else is asked of it, it answers
 * UNKNOWN_ERROR. */
#include "fake_profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool initialized;

const char *fake_chip(void) {
    const char *chip = getenv("FAKE_PM_CHIP");
    return chip != NULL && *chip != '\0' ? chip : DETAIL_CHIP;
}

bool fake_has_links(void) {
    const char *links = getenv("FAKE_PM_LINKS");
    return links != NULL && strcmp(links, "1") == 0;
}

bool profiler_initialized(void) {
    return atomic_load(&initialized);
}

bool is_params(const void *params, const struct params_size *sizes) {
    const struct params *head = params;
    for (; head != NULL && sizes->size != 0; sizes++)
        if (sizes->since <= fake_release.api && sizes->size == head->size)
            return head->private_data == NULL;
    return false;
}

/* The profiler as a whole. */

API int cuptiProfilerInitialize(struct params *params);
API int cuptiProfilerInitialize(struct params *params) {
    PARAMS(params, {0, 16});
    atomic_store(&initialized, true);
    return OK;
}

API int cuptiProfilerDeInitialize(struct params *params);
API int cuptiProfilerDeInitialize(struct params *params) {
    PARAMS(params, {0, 16});
    atomic_store(&initialized, false);
    return OK;
}

struct chip_name {
    struct params head;
    size_t deviceIndex;
    const char *pChipName;
};
API int cuptiDeviceGetChipName(struct chip_name *params);
API int cuptiDeviceGetChipName(struct chip_name *params) {
    PARAMS(params, {0, 32});
    if (!profiler_initialized())
        return NOT_INITIALIZED;
    params->pChipName = fake_chip();
    return OK;
}

/* The host object. */

struct host *host_of(void *object) {
    struct host *host = object;
    return host != NULL && host->magic == HOST_MAGIC ? host : NULL;
}

struct initialize {
    struct params head;
    int profilerType;
    const char *pChipName;
    const uint8_t *pCounterAvailabilityImage;
    void *pHostObject;
    const char *pSinglePassMetricSetName;
};
API int cuptiProfilerHostInitialize(struct initialize *params);
API int cuptiProfilerHostInitialize(struct initialize *params) {
    PARAMS(params, {24, 48}, {130200, 56});
    const struct availability *available = (const void *)params->pCounterAvailabilityImage;
    const char *set = params->head.size == 56 ? params->pSinglePassMetricSetName : NULL;
    const char *chip = known_chip(params->pChipName);
    if (params->profilerType < 0 || params->profilerType > 1 || chip == NULL ||
        (available != NULL && available->magic != AVAILABILITY_MAGIC))
        return INVALID_PARAMETER;
    if (set != NULL && (strcmp(chip, DETAIL_CHIP) != 0 ||
                        (strcmp(set, SET) != 0 && strcmp(set, EMPTY_SET) != 0)))
        return INVALID_PARAMETER;
    struct host *host = calloc(1, sizeof *host);
    if (host == NULL)
        return 8;
    host->magic = HOST_MAGIC;
    host->chip = chip;
    host->profiler_type = params->profilerType;
    host->has_links = available == NULL || available->has_links != 0;
    params->pHostObject = host;
    return OK;
}

struct deinitialize {
    struct params head;
    void *pHostObject;
};
API int cuptiProfilerHostDeinitialize(struct deinitialize *params);
API int cuptiProfilerHostDeinitialize(struct deinitialize *params) {
    PARAMS(params, {24, 24});
    struct host *host = host_of(params->pHostObject);
    if (host == NULL)
        return INVALID_PARAMETER;
    for (size_t i = 0; i < host->count; i++)
        free(host->metrics[i]);
    free(host->names);
    host->magic = 0;
    free(host);
    return OK;
}

struct supported_chips {
    struct params head;
    size_t numChips;
    const char *const *ppChipNames;
};
API int cuptiProfilerHostGetSupportedChips(struct supported_chips *params);
API int cuptiProfilerHostGetSupportedChips(struct supported_chips *params) {
    PARAMS(params, {24, 32});
    params->numChips = fake_chip_count;
    params->ppChipNames = fake_chips;
    return OK;
}

struct base_metrics {
    struct params head;
    void *pHostObject;
    int metricType;
    const char **ppMetricNames;
    size_t numMetrics;
};
API int cuptiProfilerHostGetBaseMetrics(struct base_metrics *params);
API int cuptiProfilerHostGetBaseMetrics(struct base_metrics *params) {
    PARAMS(params, {24, 48});
    HOST(host, params->pHostObject);
    if (params->metricType < COUNTER || params->metricType > THROUGHPUT)
        return INVALID_PARAMETER;
    free(host->names);
    host->names = calloc(fake_base_metric_count, sizeof *host->names);
    params->ppMetricNames = host->names;
    params->numMetrics = 0;
    for (size_t i = 0; host->names != NULL && i < fake_base_metric_count; i++)
        if (fake_base_metrics[i].type == params->metricType &&
            on_chip(host->chip, &fake_base_metrics[i]))
            host->names[params->numMetrics++] = fake_base_metrics[i].name;
    return OK;
}

struct sub_metrics {
    struct params head;
    void *pHostObject;
    int metricType;
    const char *pMetricName;
    size_t numOfSubmetrics;
    const char **ppSubMetrics;
};
API int cuptiProfilerHostGetSubMetrics(struct sub_metrics *params);
API int cuptiProfilerHostGetSubMetrics(struct sub_metrics *params) {
    static _Thread_local char list[MAX_ENDINGS][ENDING_SIZE];
    PARAMS(params, {24, 56});
    HOST(host, params->pHostObject);
    const char *rollup;
    const struct base_metric *base = find_base(host->chip, params->pMetricName, &rollup);
    if (base == NULL || base->type != params->metricType)
        SPOIL(host, INVALID_METRIC_NAME);
    free(host->names);
    params->numOfSubmetrics = endings(base->type, list);
    host->names = calloc(params->numOfSubmetrics, sizeof *host->names);
    for (size_t i = 0; host->names != NULL && i < params->numOfSubmetrics; i++)
        host->names[i] = list[i];
    params->ppSubMetrics = host->names;
    return OK;
}

struct properties {
    struct params head;
    void *pHostObject;
    const char *pMetricName;
    const char *pDescription, *pHwUnit, *pDimUnit;
    int metricType;
    int metricCollectionScope;
};
API int cuptiProfilerHostGetMetricProperties(struct properties *params);
API int cuptiProfilerHostGetMetricProperties(struct properties *params) {
    static _Thread_local char description[256], unit[32];
    PARAMS(params, {24, 60}, {130100, 64});
    HOST(host, params->pHostObject);
    const char *rollup, *begin;
    const struct base_metric *base = find_base(host->chip, params->pMetricName, &rollup);
    if (base == NULL)
        SPOIL(host, INVALID_METRIC_NAME);
    snprintf(description, sizeof description, "# of %s", strstr(base->name, "__") + 2);
    int length = (int)unit_of(base->name, &begin);
    snprintf(unit, sizeof unit, "%.*s", length, begin);
    params->pDescription = description;
    params->pHwUnit = unit;
    params->pDimUnit = base->type == COUNTER && strstr(base->name, "cycles") ? "unit_cycles" : "";
    params->metricType = base->type;
    if (params->head.size == 64)
        params->metricCollectionScope = needs_links(base->name) ? 1 : 0;
    return OK;
}

struct evaluate {
    struct params head;
    void *pHostObject;
    const uint8_t *pCounterDataImage;
    size_t counterDataImageSize, rangeIndex;
    const char **ppMetricNames;
    size_t numMetrics;
    double *pMetricValues;
};
API int cuptiProfilerHostEvaluateToGpuValues(struct evaluate *params);
API int cuptiProfilerHostEvaluateToGpuValues(struct evaluate *params) {
    PARAMS(params, {24, 72});
    HOST(host, params->pHostObject);
    const struct counter_data *data = (const void *)params->pCounterDataImage;
    if (data == NULL || params->counterDataImageSize < sizeof *data ||
        data->magic != COUNTER_DATA_MAGIC || params->rangeIndex >= data->completed ||
        params->pMetricValues == NULL)
        return INVALID_PARAMETER;
    const void *at = params->pCounterDataImage + sizeof *data + params->rangeIndex * data->slot_size;
    for (size_t i = 0; i < params->numMetrics; i++) {
        if (!is_metric(host->chip, params->ppMetricNames[i]))
            SPOIL(host, INVALID_METRIC_NAME);
        params->pMetricValues[i] =
            range_value(params->ppMetricNames[i], metric_value(params->ppMetricNames[i], at));
    }
    return OK;
}

/* The profiler host of the fake: configurations, and what it tells of chips and their sets. */
#define _GNU_SOURCE
#include "fake_profiler.h"

#include <stdlib.h>
#include <string.h>

struct add_metrics {
    struct params head;
    void *pHostObject;
    const char **ppMetricNames;
    size_t numMetrics;
};
API int cuptiProfilerHostConfigAddMetrics(struct add_metrics *params);
API int cuptiProfilerHostConfigAddMetrics(struct add_metrics *params) {
    PARAMS(params, {24, 40});
    HOST(host, params->pHostObject);
    for (size_t i = 0; i < params->numMetrics; i++) {
        const char *name = params->ppMetricNames[i];
        if (!is_metric(host->chip, name) || host->count == MAX_METRICS)
            SPOIL(host, INVALID_METRIC_NAME);
        if (needs_links(name) && !host->has_links)
            SPOIL(host, NOT_SUPPORTED);
        host->metrics[host->count++] = strdup(name);
    }
    return OK;
}

static size_t config_size(const struct host *host) {
    size_t size = sizeof(struct config);
    for (size_t i = 0; i < host->count; i++)
        size += strlen(host->metrics[i]) + 1;
    return size;
}

struct get_config_size {
    struct params head;
    void *pHostObject;
    size_t configImageSize;
};
API int cuptiProfilerHostGetConfigImageSize(struct get_config_size *params);
API int cuptiProfilerHostGetConfigImageSize(struct get_config_size *params) {
    PARAMS(params, {24, 32});
    HOST(host, params->pHostObject);
    params->configImageSize = config_size(host);
    return OK;
}

/* FAKE_RANGES_APART names a metric that takes three passes by itself, as throughputs do;
 * with FAKE_RANGES_ONE_BY_ONE, none goes into a pass with another. */
static size_t more_passes(const struct host *host) {
    const char *apart = getenv("FAKE_RANGES_APART");
    if (getenv("FAKE_RANGES_ONE_BY_ONE") != NULL)
        return host->count > 0 ? host->count - 1 : 0;
    for (size_t i = 0; apart != NULL && i < host->count; i++)
        if (strcmp(host->metrics[i], apart) == 0)
            return 2;
    return 0;
}

struct get_config {
    struct params head;
    void *pHostObject;
    size_t configImageSize;
    uint8_t *pConfigImage;
};
API int cuptiProfilerHostGetConfigImage(struct get_config *params);
API int cuptiProfilerHostGetConfigImage(struct get_config *params) {
    PARAMS(params, {24, 40});
    HOST(host, params->pHostObject);
    if (params->configImageSize < config_size(host))
        return SIZE_NOT_SUFFICIENT;
    const char *const *metrics = (const char *const *)host->metrics;
    struct config config = {
        CONFIG_MAGIC, config_size(host),
        passes_for(metrics, host->count) + (host->profiler_type == 0 ? more_passes(host) : 0),
        host->count,
        (uint64_t)host->profiler_type,
    };
    uint8_t *at = params->pConfigImage;
    memcpy(at, &config, sizeof config);
    at += sizeof config;
    for (size_t i = 0; i < host->count; i++) {
        memcpy(at, host->metrics[i], strlen(host->metrics[i]) + 1);
        at += strlen(host->metrics[i]) + 1;
    }
    return OK;
}

struct get_passes {
    struct params head;
    size_t configImageSize;
    const uint8_t *pConfigImage;
    size_t numOfPasses;
};
API int cuptiProfilerHostGetNumOfPasses(struct get_passes *params);
API int cuptiProfilerHostGetNumOfPasses(struct get_passes *params) {
    PARAMS(params, {24, 40});
    const struct config *config = (const void *)params->pConfigImage;
    if (config == NULL || params->configImageSize < sizeof *config ||
        config->magic != CONFIG_MAGIC)
        return INVALID_PARAMETER;
    params->numOfPasses = config->passes;
    return OK;
}

struct get_max {
    struct params head;
    int profilerType;
    const char *pChipName;
    const uint8_t *pCounterAvailabilityImage;
    size_t maxMetricsPerPass;
};
API int cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(struct get_max *params);
API int cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(struct get_max *params) {
    PARAMS(params, {24, 48});
    if (known_chip(params->pChipName) == NULL)
        return INVALID_PARAMETER;
    params->maxMetricsPerPass = HARDWARE_PER_PASS;
    return OK;
}

/* Single-pass sets, since 13.2: asked once for the number, then for the names. */

struct get_sets {
    struct params head;
    const char *pChipName;
    size_t numOfSinglePassSets;
    const char **ppSinglePassSets;
};
API int cuptiProfilerHostGetSinglePassSets(struct get_sets *params);
API int cuptiProfilerHostGetSinglePassSets(struct get_sets *params) {
    PARAMS(params, {130200, 40});
    if (known_chip(params->pChipName) == NULL)
        return INVALID_PARAMETER;
    size_t count = strcmp(params->pChipName, DETAIL_CHIP) == 0 ? 2 : 0;
    if (params->ppSinglePassSets != NULL) {
        if (params->numOfSinglePassSets < count)
            return SIZE_NOT_SUFFICIENT;
        if (count != 0) {
            params->ppSinglePassSets[0] = SET;
            params->ppSinglePassSets[1] = EMPTY_SET;
        }
    }
    params->numOfSinglePassSets = count;
    return OK;
}

struct get_set_metrics {
    struct params head;
    const char *pChipName, *pSinglePassSetName;
    size_t numOfMetricsInSinglePassSet, metricsBufferSize;
    size_t *pMetricsIndicesBuffer;
    uint8_t *pMetricsBuffer;
};
API int cuptiProfilerHostGetMetricsInSinglePassSet(struct get_set_metrics *params);
API int cuptiProfilerHostGetMetricsInSinglePassSet(struct get_set_metrics *params) {
    PARAMS(params, {130200, 64});
    const char *set = params->pSinglePassSetName;
    if (params->pChipName == NULL || strcmp(params->pChipName, DETAIL_CHIP) != 0 || set == NULL ||
        (strcmp(set, SET) != 0 && strcmp(set, EMPTY_SET) != 0))
        return INVALID_PARAMETER;
    size_t count = strcmp(set, SET) == 0 ? fake_set_metric_count : 0, size = 0;
    for (size_t i = 0; i < count; i++)
        size += strlen(fake_set_metrics[i]) + 1;
    if (params->pMetricsBuffer != NULL && params->pMetricsIndicesBuffer != NULL) {
        if (params->numOfMetricsInSinglePassSet < count || params->metricsBufferSize < size)
            return SIZE_NOT_SUFFICIENT;
        for (size_t i = 0, at = 0; i < count; at += strlen(fake_set_metrics[i++]) + 1) {
            params->pMetricsIndicesBuffer[i] = at;
            memcpy(params->pMetricsBuffer + at, fake_set_metrics[i],
                   strlen(fake_set_metrics[i]) + 1);
        }
    }
    params->numOfMetricsInSinglePassSet = count;
    params->metricsBufferSize = size;
    return OK;
}

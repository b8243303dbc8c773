/* The metrics of the fake's chips: names, rollups, how many passes they need, what a sample
 * costs, what they are worth.
 *
 * Names are those that a GH100 told (facts/gh100_metrics.json); other chips have those of GH100
 * that belong to no single-pass set.  Passes and costs are made up, so that what a GH100 took in
 * one pass takes one: a pass holds any number of a single-pass set's metrics and eight of each
 * unit's others. */
#include "fake_profiler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_PASS = 8, TABLE = 4096 };

const char *known_chip(const char *name) {
    for (size_t i = 0; name != NULL && i < fake_chip_count; i++)
        if (strcmp(fake_chips[i], name) == 0)
            return fake_chips[i];
    return NULL;
}

static bool in_set(const char *name) {
    return strstr(name, "TriageCompute.") != NULL;
}

bool on_chip(const char *chip, const struct base_metric *base) {
    return strcmp(chip, DETAIL_CHIP) == 0 || !in_set(base->name);
}

bool needs_links(const char *name) {
    return strstr(name, "nvlrx__") != NULL || strstr(name, "nvltx__") != NULL ||
           strstr(name, "ctc__") != NULL;
}

static uint32_t hash_of(const char *name, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* Values are asked for by name for every sample: a table with open addresses. */
static const struct base_metric *table[TABLE];

static void fill_table(void) {
    for (size_t i = 0; i < fake_base_metric_count; i++) {
        const char *name = fake_base_metrics[i].name;
        uint32_t at = hash_of(name, strlen(name)) % TABLE;
        while (table[at] != NULL)
            at = (at + 1) % TABLE;
        table[at] = &fake_base_metrics[i];
    }
}

const struct base_metric *find_base(const char *chip, const char *name, const char **rollup) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *end = name != NULL ? strstr(name, "__") : NULL;
    if (end == NULL)
        return NULL;
    pthread_once(&once, fill_table);
    end += strcspn(end, ".");
    size_t length = (size_t)(end - name);
    for (uint32_t at = hash_of(name, length) % TABLE; table[at] != NULL; at = (at + 1) % TABLE)
        if (strncmp(table[at]->name, name, length) == 0 && table[at]->name[length] == '\0') {
            *rollup = end;
            return on_chip(chip, table[at]) ? table[at] : NULL;
        }
    return NULL;
}

static const char *const counter_rollups[] = {".avg", ".max", ".min", ".sum"};
static const char *const counter_subs[] = {
    "", ".peak_sustained", ".pct_of_peak_sustained_elapsed", ".per_second", ".per_cycle_elapsed",
};
static const char *const ratio_subs[] = {".max_rate", ".pct", ".ratio"};
static const char *const throughput_subs[] = {".pct_of_peak_sustained_elapsed"};

/* All endings of a type, one after the other; the number of them. */
size_t endings(int type, char (*out)[ENDING_SIZE]) {
    size_t count = 0;
    if (type == RATIO) {
        for (size_t i = 0; i < 3; i++)
            snprintf(out[count++], ENDING_SIZE, "%s", ratio_subs[i]);
        return count;
    }
    for (size_t r = 0; r < 4; r++) {
        size_t subs = type == COUNTER ? 5 : 1;
        for (size_t s = 0; s < subs; s++)
            snprintf(out[count++], ENDING_SIZE, "%s%s", counter_rollups[r],
                     type == COUNTER ? counter_subs[s] : throughput_subs[s]);
    }
    return count;
}

bool is_metric(const char *chip, const char *name) {
    char list[MAX_ENDINGS][ENDING_SIZE];
    const char *rollup;
    const struct base_metric *base = find_base(chip, name, &rollup);
    size_t count = base != NULL ? endings(base->type, list) : 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], rollup) == 0)
            return true;
    return false;
}

/* The unit of a metric, "sm" of "TPC.TriageCompute.sm__cycles_active.sum". */
size_t unit_of(const char *name, const char **unit) {
    const char *end = strstr(name, "__");
    const char *begin = end != NULL ? end : name;
    while (begin > name && begin[-1] != '.')
        begin--;
    *unit = begin;
    return end != NULL ? (size_t)(end - begin) : strlen(begin);
}

static bool same_unit(const char *one, const char *other) {
    const char *a, *b;
    size_t length = unit_of(one, &a);
    return length == unit_of(other, &b) && strncmp(a, b, length) == 0;
}

/* Whether another name of the list before this one counts the same. */
static bool counted_before(const char *const *metrics, size_t index) {
    const char *rollup;
    const struct base_metric *base = find_base(DETAIL_CHIP, metrics[index], &rollup);
    for (size_t i = 0; i < index; i++)
        if (base == find_base(DETAIL_CHIP, metrics[i], &rollup))
            return true;
    return false;
}

size_t passes_for(const char *const *metrics, size_t count) {
    size_t most = 1;
    for (size_t i = 0; i < count; i++) {
        size_t together = 0;
        if (in_set(metrics[i]))
            continue;
        for (size_t k = 0; k < count; k++)
            together += !in_set(metrics[k]) && same_unit(metrics[i], metrics[k]) &&
                        !counted_before(metrics, k);
        if ((together + PER_PASS - 1) / PER_PASS > most)
            most = (together + PER_PASS - 1) / PER_PASS;
    }
    return most;
}

size_t sample_bytes(const char *const *metrics, size_t count) {
    static const struct {
        const char *unit;
        size_t instances;
    } units[] = {{"sm", 132}, {"smsp", 132}, {"tpc", 66}, {"l1tex", 132}, {"lts", 96},
                 {"dram", 40}, {"dramc", 40}, {"fbpa", 40}};
    size_t bytes = 256;
    for (size_t i = 0; i < count; i++) {
        const char *unit;
        size_t length = unit_of(metrics[i], &unit), instances = 2;
        for (size_t k = 0; k < sizeof units / sizeof *units; k++)
            if (strlen(units[k].unit) == length && strncmp(units[k].unit, unit, length) == 0)
                instances = units[k].instances;
        if (!counted_before(metrics, i))
            bytes += instances * (in_set(metrics[i]) ? 8 : 32);
    }
    return (bytes + 7) / 8 * 8;
}

/* Each metric has a weight of its own, 0.5 .. 1, from its name. */
static double weight(const char *name) {
    return 0.5 + (double)(hash_of(name, strlen(name)) % 1000u) / 2000.0;
}

/* Percentages and ratios: 100 (or 1) * weight * load.  Rates: 1e9 * weight, which a clock
 * would be, * load unless cycles that elapse are counted.  Counts: that rate * the time. */
double metric_value(const char *metric, const struct sample_slot *slot) {
    const char *rollup = "";
    const struct base_metric *base = find_base(DETAIL_CHIP, metric, &rollup);
    double load = strstr(metric, "cycles_elapsed") != NULL ? 1.0 : slot->load;
    if (base == NULL)
        return NAN;
    double own = weight(base->name);
    if (strstr(rollup, "pct") != NULL)
        return 100.0 * own * load;
    if (strstr(rollup, "ratio") != NULL || strstr(rollup, "per_cycle") != NULL)
        return own * load;
    if (strstr(rollup, "per_second") != NULL)
        return 1e9 * own * load;
    return own * load * (double)(slot->end - slot->start);
}

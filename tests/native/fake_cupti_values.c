/* What the members of a record hold: a distinctive value each, so that a reader that
 * looks at the wrong place shows.  Each kind has some variants of a whole record, which
 * are copied; what differs from record to record is then put into the copy. */
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

static struct writer writers[KINDS];
struct record_set predefined;

static const char *const field_names[FIELDS] = {
    [F_KIND] = "kind",
    [F_START] = "start",
    [F_END] = "end",
    [F_COMPLETED] = "completed",
    [F_TIMESTAMP] = "timestamp",
    [F_CORRELATION] = "correlationId",
    [F_RUNTIME_CORRELATION] = "runtimeCorrelationId",
    [F_NAME] = "name",
    [F_DOMAIN] = "domain",
    [F_DEVICE] = "deviceId",
    [F_CONTEXT] = "contextId",
    [F_STREAM] = "streamId",
    [F_BYTES] = "bytes",
    [F_CBID] = "cbid",
    [F_PROCESS] = "processId",
    [F_THREAD] = "threadId",
    [F_FLAGS] = "flags",
    [F_ID] = "id",
    [F_OBJECT_KIND] = "objectKind",
    [F_OBJECT_ID] = "objectId",
    [F_OVERHEAD_KIND] = "overheadKind",
    [F_GRAPH] = "graphId",
    [F_GRAPH_NODE] = "graphNodeId",
    [F_COLOR] = "color",
    [F_CATEGORY] = "category",
    [F_PAYLOAD_KIND] = "payloadKind",
    [F_PAYLOAD] = "payload",
    [F_EXTERNAL_KIND] = "externalKind",
    [F_EXTERNAL_ID] = "externalId",
    [F_GRID] = "gridId",
};

static uint64_t hash(uint32_t kind, const char *name, uint32_t variant) {
    uint64_t value = 1469598103934665603u + kind * 7919u + variant * 104729u;
    for (; *name != '\0'; name++)
        value = (value ^ (uint8_t)*name) * 1099511628211u;
    return value ^ (value >> 29);
}

static bool starts(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Members with a narrow meaning.  Value of a variant: first + variant % count, or zero
 * in every `absent`-th variant (what CUPTI writes where it has nothing to say). */
static const struct {
    const char *name;
    uint32_t first, count, absent;
} ranges[] = {
    {"copyKind", 1, 10, 0},      {"srcKind", 1, 7, 0},          {"dstKind", 2, 6, 0},
    {"memoryKind", 1, 7, 0},     {"launchType", 0, 4, 0},       {"channelType", 0, 3, 0},
    {"cigMode", 0, 3, 0},        {"computeApiKind", 1, 2, 0},   {"payloadKind", 0, 7, 0},
    {"executionModel", 1, 2, 0}, {"type", 1, 5, 0},             {"memoryOperationType", 1, 2, 0},
    {"eccEnabled", 0, 2, 0},     {"registersPerThread", 16, 240, 0}, {"flag", 1, 4, 0},
    {"clusterX", 1, 8, 4},       {"clusterY", 2, 8, 4},         {"clusterZ", 3, 8, 4},
    {"graphId", 300, 50, 4},     {"sourceGraphId", 400, 50, 4}, {"isAsync", 0, 2, 0},
    {"environmentKind", 1, 4, 0}, {"counterKind", 1, 8, 0},      {"eventKind", 1, 6, 0},
};

static uint64_t value_of(uint32_t kind, const struct member *member, uint32_t variant) {
    const char *name = member->name;
    uint64_t random = hash(kind, name, variant);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (strcmp(name, ranges[i].name) == 0)
            return ranges[i].absent != 0 && variant % ranges[i].absent == 3
                       ? 0
                       : ranges[i].first + variant % ranges[i].count;
    }
    if (starts(name, "pad") || starts(name, "reserved"))
        return random | 0x8181818181818181u; /* garbage, no byte of it zero */
    if (starts(name, "is"))
        return variant & 1u;
    /* Pointers: who reads the record follows them. */
    if (strcmp(name, "name") == 0 || strcmp(name, "cachePath") == 0 ||
        strcmp(name, "srcFile") == 0 || strcmp(name, "funcName") == 0 ||
        strcmp(name, "varName") == 0 || strcmp(name, "kernelName") == 0)
        return variant % 2 == 1 ? 0 : (uintptr_t)"fake_variable";
    if (strcmp(name, "source") == 0)
        return (uintptr_t)"libfake.so";
    if (strcmp(name, "graphNodeId") == 0 || strcmp(name, "sourceGraphNodeId") == 0)
        return variant % 4 == 3 ? 0 : (random >> 8) | 1;
    if (strcmp(name, "queued") == 0 || strcmp(name, "submitted") == 0)
        return variant % 2 == 1 ? 0 : 1700000000000000000u + random % 1000000000u;
    if (strcmp(name, "returnValue") == 0)
        return variant == 13 ? 700 : 0;
    if (strcmp(name, "priority") == 0)
        return (uint64_t)0 - variant % 6;
    if (strcmp(name, "gpuInstanceId") == 0 || strcmp(name, "computeInstanceId") == 0)
        return variant % 2 == 1 ? UINT32_MAX : 3 + variant;
    if (strcmp(name, "color") == 0 || strcmp(name, "value") == 0)
        return random | 0x80000000u; /* the sign bit of 32-bit columns */
    switch (member->size) {
    case 1:
        return 1 + random % 120;
    case 2:
        return 256 + random % 30000;
    case 4:
        return 0x10000 + random % 0x3fff0000u;
    default:
        return 0x100000000u + (random >> 16);
    }
}

static void fill(uint8_t *record, const struct layout *layout, uint32_t variant) {
    for (uint32_t i = 0; i < layout->stride; i++) /* also between the members */
        record[i] = (uint8_t)(0x80 | (hash(layout->kind, "gap", i) & 0x7f));
    for (uint32_t i = 0; i < layout->member_count; i++) {
        const struct member *member = &layout->members[i];
        uint64_t value = value_of(layout->kind, member, variant);
        for (uint32_t byte = 0; byte < member->size; byte += 8) {
            uint32_t left = member->size - byte;
            memcpy(record + member->offset + byte, &value, left < 8 ? left : 8);
            value = value * 6364136223846793005u + 1442695040888963407u;
        }
    }
}

static void find_fields(struct writer *writer, const struct member *members, uint32_t count) {
    for (int field = 0; field < FIELDS; field++) {
        writer->offset[field] = -1;
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(members[i].name, field_names[field]) == 0) {
                writer->offset[field] = (int16_t)members[i].offset;
                writer->size[field] = (uint8_t)members[i].size;
            }
        }
    }
}

static void init_writer(const struct layout *layout) {
    struct writer *writer = &writers[layout->kind];
    if (layout->stride > MAX_STRIDE)
        abort();
    writer->stride = layout->stride;
    find_fields(writer, layout->members, layout->member_count);
    for (uint32_t variant = 0; variant < VARIANTS; variant++)
        fill(writer->templates[variant], layout, variant);
}

void init_values(void) {
    static struct record_layout none[KINDS];
    for (uint32_t i = 0; i < fake_release.layout_count; i++)
        init_writer(&fake_release.layouts[i]);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        none[kind].struct_size = sizeof none[kind];
        predefined.writers[kind] = &writers[kind];
        predefined.layouts[kind] = &none[kind];
    }
}

static const struct field_fact *field_fact(uint32_t kind, int id) {
    for (uint32_t i = 0; i < fake_release.field_count; i++)
        if (fake_release.fields[i].kind == kind && fake_release.fields[i].id == id)
            return &fake_release.fields[i];
    return NULL;
}

static const struct member *find_member(uint32_t kind, const char *name) {
    for (uint32_t i = 0; i < fake_release.layout_count; i++) {
        const struct layout *layout = &fake_release.layouts[i];
        for (uint32_t m = 0; layout->kind == kind && m < layout->member_count; m++)
            if (strcmp(layout->members[m].name, name) == 0)
                return &layout->members[m];
    }
    return NULL;
}

static uint32_t align(uint32_t offset, uint32_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

/* Appends a field: naturally aligned, and in the templates as in the predefined record. */
static bool append(struct writer *writer, struct field_entry *entry, uint32_t kind, int id) {
    const struct field_fact *fact = field_fact(kind, id);
    const struct member *from = fact != NULL ? find_member(kind, fact->from) : NULL;
    if (from == NULL)
        return false;
    uint32_t alignment = fact->width >= 8 ? 8 : fact->width;
    uint32_t offset = align(writer->stride, alignment);
    if (writer->selected == MAX_FIELDS || offset + fact->width > MAX_STRIDE)
        return false;
    for (uint32_t variant = 0; variant < VARIANTS; variant++)
        memcpy(writer->templates[variant] + offset,
               writers[kind].templates[variant] + from->offset + fact->at, fact->size);
    writer->members[writer->selected++] = (struct member){fact->member, (uint16_t)offset,
                                                          fact->width};
    writer->stride = offset + fact->width;
    *entry = (struct field_entry){sizeof *entry, id, offset, fact->width, alignment};
    return true;
}

const struct record_set *select_fields(const struct record_set *set, uint32_t kind,
                                       const int *ids, size_t count) {
    struct writer *writer = calloc(1, sizeof *writer);
    struct record_set *made = malloc(sizeof *made);
    struct record_layout *layout = malloc(sizeof *layout);
    struct field_entry *entries = calloc(MAX_FIELDS, sizeof *entries);
    if (writer == NULL || made == NULL || layout == NULL || entries == NULL)
        abort();
    bool good = count != 0 && count <= MAX_FIELDS && ids[0] == 0;
    for (size_t i = 0; good && i < count; i++) {
        for (size_t before = 0; before < i; before++)
            good = good && ids[before] != ids[i];
        good = good && append(writer, &entries[i], kind, ids[i]);
    }
    if (!good) {
        free(writer), free(made), free(layout), free(entries);
        return NULL;
    }
    writer->stride = align(writer->stride, 8);
    find_fields(writer, writer->members, writer->selected);
    *layout = (struct record_layout){sizeof *layout, entries, count, writer->stride};
    *made = *set;
    made->writers[kind] = writer;
    made->layouts[kind] = layout;
    return made; /* kept for good: buffers refer to it */
}

uint32_t kind_of(const uint8_t *record) {
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    return kind;
}

uint32_t stride_of(const struct record_set *set, uint32_t kind) {
    if (kind == KIND_FUTURE)
        return options.unknown_refuse ? 0 : FUTURE_STRIDE;
    return kind < KINDS ? set->writers[kind]->stride : 0;
}

void put(struct record record, enum field field, uint64_t value) {
    if (record.at == NULL || record.writer->offset[field] < 0)
        return;
    uint8_t *place = record.at + record.writer->offset[field];
    switch (record.writer->size[field]) {
    case 8:
        memcpy(place, &value, 8);
        break;
    case 4:
        memcpy(place, &value, 4);
        break;
    case 2:
        memcpy(place, &value, 2);
        break;
    default:
        memcpy(place, &value, 1);
    }
}

uint64_t get(const struct record_set *set, const uint8_t *record, enum field field) {
    const struct writer *writer = set->writers[kind_of(record) % KINDS];
    uint64_t value = 0;
    if (writer->stride != 0 && writer->offset[field] >= 0)
        memcpy(&value, record + writer->offset[field],
               writer->size[field] < 8 ? writer->size[field] : 8);
    return value;
}

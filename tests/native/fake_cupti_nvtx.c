/* The functions that cuptiNvtxInitialize2 puts into the program's NVTX slots: they turn
 * ranges and marks into marker records. */
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, OPEN_RANGES = 4096 };

struct domain { /* what a handle of a domain points to */
    const char *name;
};

static atomic_uint next_id;
static struct { /* of the ranges with a start and an end: id -> domain */
    const char *domain;
} open_ranges[OPEN_RANGES];
static _Thread_local struct {
    uint32_t id;
    const char *domain;
} stack[DEPTH];
static _Thread_local uint32_t depth;

/* A copy that lives as long as the process: programs reuse the memory of their messages. */
static const char *intern(const char *text) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct entry {
        struct entry *next;
        char text[];
    } *table[256];
    if (text == NULL)
        return NULL;
    size_t length = strlen(text), hash = length;
    for (size_t i = 0; i < length; i++)
        hash = hash * 31 + (unsigned char)text[i];
    pthread_mutex_lock(&lock);
    struct entry *entry = table[hash % 256];
    while (entry != NULL && strcmp(entry->text, text) != 0)
        entry = entry->next;
    if (entry == NULL) {
        entry = malloc(sizeof *entry + length + 1);
        if (entry == NULL)
            abort();
        memcpy(entry->text, text, length + 1);
        entry->next = table[hash % 256];
        table[hash % 256] = entry;
    }
    pthread_mutex_unlock(&lock);
    return entry->text;
}

/* Wide characters become UTF-8. */
static const char *intern_wide(const wchar_t *text) {
    char narrow[1024];
    size_t used = 0;
    for (; text != NULL && *text != L'\0' && used + 5 < sizeof narrow; text++) {
        uint32_t code = (uint32_t)*text;
        int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
        narrow[used++] = (char)(lead[more] | code >> (6 * more));
        while (more-- > 0)
            narrow[used++] = (char)(0x80 | (code >> (6 * more) & 0x3F));
    }
    narrow[used] = '\0';
    return text != NULL ? intern(narrow) : NULL;
}

static const char *message(nvtx_event event) {
    if (event == NULL)
        return NULL;
    switch (event->message_type) {
    case NVTX_MESSAGE_ASCII:
        return intern(event->message.ascii);
    case NVTX_MESSAGE_UNICODE:
        return intern_wide(event->message.unicode);
    case NVTX_MESSAGE_REGISTERED:
        return event->message.registered; /* interned when it was registered */
    default:
        return NULL;
    }
}

static const char *domain_name(nvtx_domain domain) {
    return domain != NULL ? ((struct domain *)domain)->name : NULL;
}

/* Until a client has registered its callbacks, subscribed or enabled something, libcupti 13 crashes
 * in all that a program calls, but where domains and registered strings are made. */
static void need_initialisation(void) {
    if (fake_release.api >= 130000 && !atomic_load(&initialised))
        abort();
}

static uint32_t begin(uint32_t flags, const char *name, const char *domain, nvtx_event event) {
    need_initialisation();
    uint32_t id = atomic_fetch_add(&next_id, 1) + 1;
    on_marker(&(struct marker){flags, id, name, domain, event});
    return id;
}

static void finish(uint32_t id, const char *domain) {
    need_initialisation();
    on_marker(&(struct marker){MARKER_END, id, NULL, domain, NULL});
}

static int push(const char *name, const char *domain, nvtx_event event) {
    int level = 0;
    for (uint32_t i = 0; i < depth && i < DEPTH; i++)
        level += stack[i].domain == domain;
    uint32_t id = begin(MARKER_START, name, domain, event);
    if (depth < DEPTH) {
        stack[depth].id = id;
        stack[depth].domain = domain;
        depth++;
    }
    return level;
}

/* Each domain has a stack of its own. */
static int pop(const char *domain) {
    uint32_t top = depth;
    while (top > 0 && stack[top - 1].domain != domain)
        top--;
    if (top == 0)
        return -2; /* NVTX_NO_PUSH_POP_TRACKING */
    finish(stack[top - 1].id, domain);
    memmove(&stack[top - 1], &stack[top], (depth - top) * sizeof *stack);
    depth--;
    int level = 0;
    for (uint32_t i = 0; i < depth; i++)
        level += stack[i].domain == domain;
    return level;
}

static nvtx_range start(const char *name, const char *domain, nvtx_event event) {
    uint32_t id = begin(MARKER_START, name, domain, event);
    open_ranges[id % OPEN_RANGES].domain = domain;
    return id;
}

static void end(nvtx_range range) {
    if (range != 0)
        finish((uint32_t)range, open_ranges[range % OPEN_RANGES].domain);
}

static void MarkEx(nvtx_event event) {
    begin(MARKER_INSTANT, message(event), NULL, event);
}
static void MarkA(const char *text) {
    call_back_nvtx(1, "nvtxMarkA", &text);
    begin(MARKER_INSTANT, intern(text), NULL, NULL);
}
static void MarkW(const wchar_t *text) {
    begin(MARKER_INSTANT, intern_wide(text), NULL, NULL);
}
static nvtx_range RangeStartEx(nvtx_event event) {
    return start(message(event), NULL, event);
}
static nvtx_range RangeStartA(const char *text) {
    return start(intern(text), NULL, NULL);
}
static nvtx_range RangeStartW(const wchar_t *text) {
    return start(intern_wide(text), NULL, NULL);
}
static int RangePushEx(nvtx_event event) {
    call_back_nvtx(10, "nvtxRangePushEx", &event);
    return push(message(event), NULL, event);
}
static int RangePushA(const char *text) {
    call_back_nvtx(8, "nvtxRangePushA", &text);
    return push(intern(text), NULL, NULL);
}
static int RangePushW(const wchar_t *text) {
    return push(intern_wide(text), NULL, NULL);
}
static int RangePop(void) {
    call_back_nvtx(11, "nvtxRangePop", NULL);
    return pop(NULL);
}
static void DomainMarkEx(nvtx_domain domain, nvtx_event event) {
    begin(MARKER_INSTANT, message(event), domain_name(domain), event);
}
static nvtx_range DomainRangeStartEx(nvtx_domain domain, nvtx_event event) {
    return start(message(event), domain_name(domain), event);
}
static void DomainRangeEnd(nvtx_domain domain, nvtx_range range) {
    (void)domain;
    end(range);
}
static int DomainRangePushEx(nvtx_domain domain, nvtx_event event) {
    struct {
        nvtx_domain domain;
        nvtx_event event;
    } arguments = {domain, event};
    call_back_nvtx(33, "nvtxDomainRangePushEx", &arguments);
    return push(message(event), domain_name(domain), event);
}
static int DomainRangePop(nvtx_domain domain) {
    return pop(domain_name(domain));
}
static nvtx_string DomainRegisterStringA(nvtx_domain domain, const char *text) {
    (void)domain;
    return (nvtx_string)(uintptr_t)intern(text);
}
static nvtx_string DomainRegisterStringW(nvtx_domain domain, const wchar_t *text) {
    (void)domain;
    return (nvtx_string)(uintptr_t)intern_wide(text);
}
static nvtx_domain create_domain(const char *name) {
    struct domain *domain = malloc(sizeof *domain);
    if (domain != NULL)
        domain->name = name;
    return domain;
}
static nvtx_domain DomainCreateA(const char *name) {
    return create_domain(intern(name));
}
static nvtx_domain DomainCreateW(const wchar_t *name) {
    return create_domain(intern_wide(name));
}
static void DomainDestroy(nvtx_domain domain) {
    free(domain);
}

#define FUNCTION(name) [NVTX_##name] = (nvtx_function)name
static const nvtx_function core[NVTX_CORE_SIZE] = {
    FUNCTION(MarkEx),       FUNCTION(MarkA),       FUNCTION(MarkW),      FUNCTION(RangeStartEx),
    FUNCTION(RangeStartA),  FUNCTION(RangeStartW), [NVTX_RangeEnd] = (nvtx_function)end,
    FUNCTION(RangePushEx),  FUNCTION(RangePushA),  FUNCTION(RangePushW), FUNCTION(RangePop),
};
static const nvtx_function core2[NVTX_CORE2_SIZE] = {
    FUNCTION(DomainMarkEx),          FUNCTION(DomainRangeStartEx),    FUNCTION(DomainRangeEnd),
    FUNCTION(DomainRangePushEx),     FUNCTION(DomainRangePop),        FUNCTION(DomainCreateA),
    FUNCTION(DomainRegisterStringA), FUNCTION(DomainRegisterStringW), FUNCTION(DomainCreateW),
    FUNCTION(DomainDestroy),
};

static bool install(const struct nvtx_callbacks *callbacks, int module,
                    const nvtx_function *functions, unsigned count) {
    nvtx_table table = NULL;
    unsigned size = 0;
    if (callbacks->get_module_function_table(module, &table, &size) == 0 || table == NULL)
        return false;
    for (unsigned i = 1; i < size && i < count; i++)
        if (functions[i] != NULL && table[i] != NULL)
            *table[i] = functions[i];
    return true;
}

/* Called by the injected library's InitializeInjectionNvtx2 with what NVTX gave it. */
API int cuptiNvtxInitialize2(nvtx_get_export_table get_export_table);
API int cuptiNvtxInitialize2(nvtx_get_export_table get_export_table) {
    ENTER();
    if (get_export_table == NULL)
        return INVALID_PARAMETER;
    const struct nvtx_callbacks *callbacks = get_export_table(NVTX_ETID_CALLBACKS);
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks ||
        !install(callbacks, NVTX_MODULE_CORE, core, NVTX_CORE_SIZE) ||
        !install(callbacks, NVTX_MODULE_CORE2, core2, NVTX_CORE2_SIZE))
        return UNKNOWN_ERROR;
    return OK;
}

/* Options, the errors that a test asked for, and the tie to the fake driver. */
#define _GNU_SOURCE
#include "fake_cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

struct options options;
atomic_bool closing, initialised;
atomic_bool calls_traced;

static const char *text_option(const char *name) {
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? text : NULL;
}

static uint32_t number_option(const char *name, uint32_t otherwise) {
    const char *text = text_option(name);
    return text != NULL ? (uint32_t)strtoul(text, NULL, 0) : otherwise;
}

static bool is_option(const char *name, const char *value) {
    const char *text = text_option(name);
    return text != NULL && strcmp(text, value) == 0;
}

/* One that its parent has initialised is of no use to it. */
static void in_forked_child(void) {
    if (atomic_load(&initialised))
        atomic_store(&closing, true);
    else
        init_log();
}

__attribute__((constructor)) static void load(void) {
    options.version = number_option("FAKE_CUPTI_VERSION", fake_release.api);
    options.per_thread = number_option("FAKE_CUPTI_PER_THREAD", fake_release.api >= 130000) != 0;
    options.late_ms = number_option("FAKE_CUPTI_LATE_MS", 0);
    options.slow_ms = number_option("FAKE_CUPTI_SLOW_MS", 0);
    options.drop_every = number_option("FAKE_CUPTI_DROP_EVERY", 0);
    options.unknown_every = number_option("FAKE_CUPTI_UNKNOWN_EVERY", 0);
    options.graph_every = number_option("FAKE_CUPTI_GRAPH_EVERY", 0);
    options.graph_nodes = number_option("FAKE_CUPTI_GRAPH_NODES", 3);
    options.pool = number_option("FAKE_CUPTI_POOL", 0);
    options.unknown_refuse = is_option("FAKE_CUPTI_UNKNOWN", "refuse");
    options.other_client = number_option("FAKE_CUPTI_OTHER_CLIENT", 0) != 0;
    options.correlation = number_option("FAKE_CUPTI_CORRELATION", 1);
    options.stuck = number_option("FAKE_CUPTI_STUCK", UINT32_MAX);
    options.devices = number_option("FAKE_CUPTI_DEVICES", 1);
    options.moving_names = is_option("FAKE_CUPTI_NAMES", "moving");
    options.at_exit = number_option("FAKE_CUPTI_AT_EXIT", 0) != 0;
    options.still_called = number_option("FAKE_CUPTI_STILL_CALLED", 0) != 0;
    options.check_zero = number_option("FAKE_CUPTI_CHECK_ZERO", 1) != 0;
    options.play = text_option("FAKE_CUPTI_PLAY");
    options.play_all = number_option("FAKE_CUPTI_PLAY_ALL", 0) != 0;
    options.log = text_option("FAKE_CUPTI_LOG");
    options.log_rows = number_option("FAKE_CUPTI_LOG_ROWS", 0) != 0;
    options.fail = text_option("FAKE_CUPTI_FAIL");
    init_values();
    init_subscribers();
    init_log();
    pthread_atfork(NULL, NULL, in_forked_child);
}

__attribute__((destructor)) static void unload(void) {
    if (atomic_exchange(&closing, true))
        return;
    stop_worker();
    if (options.at_exit && have_clients())
        flush(true);
    counters->ended = 1;
}

/* Whether an entry "function" or "function:argument" of FAKE_CUPTI_FAIL applies. */
static int asked_failure(const char *function, long argument) {
    char with_argument[128];
    snprintf(with_argument, sizeof with_argument, "%s:%ld", function, argument);
    for (const char *entry = options.fail; entry != NULL && *entry != '\0';) {
        const char *equals = strchr(entry, '=');
        if (equals == NULL)
            return 0;
        size_t length = (size_t)(equals - entry);
        char *end;
        long code = strtol(equals + 1, &end, 10);
        if ((length == strlen(function) && strncmp(entry, function, length) == 0) ||
            (length == strlen(with_argument) && strncmp(entry, with_argument, length) == 0))
            return (int)code;
        entry = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static void *driver(void) {
    static _Atomic(void *) handle;
    void *known = atomic_load(&handle);
    if (known == NULL) {
        known = dlopen("libcuda.so.1", RTLD_LAZY);
        atomic_store(&handle, known);
    }
    return known;
}

int enter(const char *function, long argument) {
    /* Without a driver the libraries from 13.3 on answer every call with this. */
    if (fake_release.api >= 130300 && driver() == NULL)
        return UNKNOWN_ERROR;
    return options.fail != NULL ? asked_failure(function, argument) : OK;
}

static void attach_once(void) {
    int (*attach)(fake_sink) = NULL;
    if (driver() != NULL)
        *(void **)&attach = dlsym(driver(), "fake_driver_register_cupti");
    if (attach != NULL)
        attach(on_event);
}

void attach_driver(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach_once);
    atomic_store(&initialised, true);
}

bool driver_is_initialised(void) {
    int (*ask)(void) = NULL;
    if (driver() != NULL)
        *(void **)&ask = dlsym(driver(), "fake_driver_is_initialised");
    return ask != NULL && ask();
}

int driver_version(void) {
    int (*get_version)(int *) = NULL;
    int version = 0;
    if (driver() != NULL)
        *(void **)&get_version = dlsym(driver(), "cuDriverGetVersion");
    return get_version != NULL && get_version(&version) == 0 ? version : 0;
}

static _Atomic(uint64_t (*)(void)) given_clock;

void set_clock(uint64_t (*clock)(void)) {
    atomic_store(&given_clock, clock);
}

uint64_t timestamp(void) {
    uint64_t (*clock)(void) = atomic_load(&given_clock);
    return clock != NULL ? clock() : now_ns();
}

uint32_t process_id(void) {
    static atomic_uint known;
    if (atomic_load(&known) == 0)
        atomic_store(&known, (unsigned)getpid());
    return atomic_load(&known);
}

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

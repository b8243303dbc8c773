/* The test program's NVTX ranges. */
#include "fake_program.h"
#include "fake_program_nvtx.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static nvtx_domain own_domain, named_domain;
static nvtx_string registered;
static wchar_t wide_name[64];
static const struct settings *given;
static _Thread_local nvtx_range started;

static void prepare(void) {
    own_domain = nvtxDomainCreateA("fake.domain");
    if (given->range_domain != NULL)
        named_domain = nvtxDomainCreateA(given->range_domain);
    if (strcmp(given->range_form, "registered") == 0)
        registered = nvtxDomainRegisterStringA(named_domain, given->range_name);
    for (size_t i = 0; i + 1 < sizeof wide_name / sizeof *wide_name && given->range_name[i]; i++)
        wide_name[i] = (unsigned char)given->range_name[i];
}

static struct nvtx_attributes attributes(const char *text) {
    struct nvtx_attributes event = {.version = 3, .size = sizeof event};
    event.category = 7;
    event.color_type = NVTX_COLOR_ARGB;
    event.color = 0xFF336699;
    event.message_type = registered != NULL ? NVTX_MESSAGE_REGISTERED : NVTX_MESSAGE_ASCII;
    if (registered != NULL)
        event.message.registered = registered;
    else
        event.message.ascii = text;
    return event;
}

static bool is_form(const char *form) {
    return strcmp(given->range_form, form) == 0;
}

/* The text is on the stack: a tool that keeps its address reads something else. */
static void open_range(void) {
    char text[128];
    snprintf(text, sizeof text, "%s", given->range_name);
    struct nvtx_attributes event = attributes(text);
    if (is_form("push"))
        nvtxRangePushA(text);
    else if (is_form("wide"))
        nvtxRangePushW(wide_name);
    else if (is_form("start"))
        started = nvtxRangeStartA(text);
    else if (is_form("start-ex") && named_domain != NULL)
        started = nvtxDomainRangeStartEx(named_domain, &event);
    else if (is_form("start-ex"))
        started = nvtxRangeStartEx(&event);
    else if (named_domain != NULL)
        nvtxDomainRangePushEx(named_domain, &event);
    else
        nvtxRangePushEx(&event);
}

static void close_range(void) {
    bool is_start = is_form("start") || is_form("start-ex");
    bool in_domain = named_domain != NULL && !is_form("push") && !is_form("wide") &&
                     !is_form("start");
    if (is_start && in_domain)
        nvtxDomainRangeEnd(named_domain, started);
    else if (is_start)
        nvtxRangeEnd(started);
    else if (in_domain)
        nvtxDomainRangePop(named_domain);
    else
        nvtxRangePop();
}

static bool odd_range(long i) {
    return i / given->nvtx_every % 2 != 0;
}

void ranges_before_launch(const struct settings *settings, long i) {
    if (settings->nvtx_every == 0 && settings->range_every == 0)
        return;
    if (given == NULL)
        given = settings;
    pthread_once(&once, prepare);
    if (settings->nvtx_every != 0 && i % settings->nvtx_every == 0) {
        char text[32];
        snprintf(text, sizeof text, "range %ld", i / settings->nvtx_every % 8);
        struct nvtx_attributes range = attributes(text), mark = attributes("mark");
        if (odd_range(i)) {
            nvtxDomainRangePushEx(own_domain, &range);
            nvtxDomainMarkEx(own_domain, &mark);
        } else {
            nvtxRangePushA(text);
            nvtxMarkA("mark");
        }
    }
    if (settings->range_every != 0 && i % (settings->range_every + settings->range_gap) == 0)
        open_range();
}

void ranges_after_launch(const struct settings *settings, long i) {
    long cycle = settings->range_every + settings->range_gap;
    if (settings->range_every != 0 && i % cycle == settings->range_every - 1)
        close_range();
    if (settings->nvtx_every == 0 || i % settings->nvtx_every != settings->nvtx_every - 1)
        return;
    if (odd_range(i))
        nvtxDomainRangePop(own_domain);
    else
        nvtxRangePop();
}

/* A program to trace.  Linked with nothing of CUDA: it opens libcuda.so.1 as a program
 * does that loads its runtime late.  See `options` below; all are --name=value. */
#define _GNU_SOURCE
#include "fake_program.h"
#include "fake_program_nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_uint interrupts;

static const struct option_spec {
    const char *name;
    size_t offset;
    bool is_text;
} specs[] = {
#define NUMBER(option, member) {option, offsetof(struct settings, member), false}
#define TEXT(option, member) {option, offsetof(struct settings, member), true}
    NUMBER("threads", threads),             /* that launch */
    NUMBER("launches", launches),           /* per thread */
    NUMBER("streams", streams),             /* per thread */
    NUMBER("names", names),                 /* of kernels */
    NUMBER("copy-every", copy_every),       /* a copy after so many launches */
    NUMBER("set-every", set_every),         /* a memset */
    NUMBER("malloc-every", malloc_every),   /* an allocation */
    NUMBER("sync-every", sync_every),       /* a cudaDeviceSynchronize */
    NUMBER("nvtx-every", nvtx_every),       /* a range around so many launches, and a mark */
    NUMBER("range-every", range_every),     /* a range around so many launches ... */
    NUMBER("range-gap", range_gap),         /* ... then so many outside */
    TEXT("range-name", range_name),         /* its name */
    TEXT("range-form", range_form),         /* push, wide, ex, registered, start, start-ex */
    TEXT("range-domain", range_domain),     /* its domain; needs ex, registered or start-ex */
    TEXT("range-before", range_before),     /* a range from before cuInit to the end */
    NUMBER("profiler-every", profiler_every), /* cudaProfilerStart, so many launches of the
                                                 first thread, Stop, so many, Start ... */
    NUMBER("noise", noise),                 /* cudaGetDevice + cudaGetLastError per launch */
    NUMBER("driver-api", driver_api),       /* 1: launch through the driver API alone */
    NUMBER("rate", rate),                   /* launches a second per thread */
    NUMBER("long-kernel", long_kernel),     /* 1: end with a kernel that never completes */
    NUMBER("play", play),                   /* 1: play FAKE_CUPTI_PLAY */
    /* Another client of CUPTI comes after so many launches, and leaves again after so many
     * more: it flushes and disables the kinds that it enabled. */
    NUMBER("takeover-at", takeover_at),
    NUMBER("takeover-for", takeover_for),
    TEXT("takeover-kinds", takeover_kinds),           /* that it enables: 10,5 */
    NUMBER("takeover-v2", takeover_v2),               /* 1: with version 2 of the API */
    NUMBER("takeover-subscribe", takeover_subscribe), /* 1: it subscribes first */
    NUMBER("takeover-multiple", takeover_multiple),   /* 1: and allows other subscribers */
    NUMBER("takeover-unsubscribe", takeover_unsubscribe), /* 1: at the end, and ... */
    NUMBER("takeover-finalize", takeover_finalize),       /* 1: cuptiFinalize too */
    NUMBER("takeover-clock", takeover_clock), /* 1: with a clock of its own, as PyTorch's */
    NUMBER("takeover-times", takeover_times), /* how often it comes; once */
    NUMBER("takeover-every", takeover_every), /* launches from one time to the next */
    /* 1: it comes when the first client has all records so far, and nothing is launched from its
     * end until the first records again. */
    NUMBER("takeover-waits", takeover_waits),
    /* So many launches after it came, nothing is launched until the first client saw it: which
     * takes the records back, or asks whether the other is still subscribed. */
    NUMBER("takeover-noticed", takeover_noticed),
    TEXT("takeover-report", takeover_report), /* what the calls answered, and records; JSON */
    NUMBER("no-cuda", no_cuda),             /* 1: do not touch CUDA */
    NUMBER("init-only", init_only),         /* 1: cuInit and nothing else */
    NUMBER("fork", fork_children),          /* fork so many before cuInit; they do the same */
    NUMBER("fork-after", fork_after),       /* fork so many after the work; they try to launch */
    NUMBER("spawn", spawn_children),        /* run so many children with the same options */
    NUMBER("wait-children", wait_children), /* 0: leave them behind */
    NUMBER("handed-over", handed_over),     /* 1: wait until all records are handed over */
    NUMBER("linger-ms", linger_ms),         /* sleep before the end */
    NUMBER("count-sigint", count_sigint),   /* wait so many ms for SIGINT, print how many came */
    NUMBER("late-launches", late_launches), /* launch so many more after the tools' atexit */
    NUMBER("echo", echo),                   /* 1: copy stdin to stdout */
    NUMBER("status", status),               /* exit status */
    TEXT("exit", exit_mode),                /* return, exit, _exit, abort, kill, wait */
    TEXT("print", print),                   /* text for stdout */
    TEXT("print-error", print_error),       /* text for stderr */
    TEXT("start", start_file),              /* after cuInit, wait until this file exists */
    TEXT("ready", ready_file),              /* make this file when the work is done */
    TEXT("until", until_file),              /* wait at the end until this file exists */
    TEXT("preload", preload),               /* open this library before cuInit */
};

static struct settings settings = {
    .threads = 1, .streams = 1, .names = 1, .wait_children = 1, .exit_mode = "return",
                                   .range_name = "range", .range_form = "push"};

static void parse(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        const struct option_spec *spec = NULL;
        for (size_t s = 0; equals != NULL && s < sizeof specs / sizeof *specs; s++) {
            size_t length = strlen(specs[s].name);
            if (strncmp(argv[i], "--", 2) == 0 && (size_t)(equals - argv[i]) == length + 2 &&
                strncmp(argv[i] + 2, specs[s].name, length) == 0)
                spec = &specs[s];
        }
        if (spec == NULL) {
            fprintf(stderr, "fake_program: unknown option %s\n", argv[i]);
            exit(2);
        }
        char *place = (char *)&settings + spec->offset;
        if (spec->is_text)
            *(const char **)place = equals + 1;
        else
            *(long *)place = strtol(equals + 1, NULL, 0);
    }
}

void sleep_ms(long milliseconds) {
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

void wait_for(const char *file) {
    while (file != NULL && access(file, F_OK) != 0)
        sleep_ms(2);
}

static void on_interrupt(int signal) {
    (void)signal;
    atomic_fetch_add(&interrupts, 1);
}

/* Wait for the first SIGINT, then a little longer for one that should not come. */
static void count_interrupts(void) {
    for (long waited = 0; waited < settings.count_sigint; waited += 5) {
        if (atomic_load(&interrupts) != 0) {
            sleep_ms(200);
            break;
        }
        sleep_ms(5);
    }
    printf("sigint=%u\n", atomic_load(&interrupts));
    fflush(stdout);
}

static void echo(void) {
    char text[4096];
    size_t length;
    while ((length = fread(text, 1, sizeof text, stdin)) != 0)
        fwrite(text, 1, length, stdout);
    fflush(stdout);
}

static void fork_some(long count) {
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0)
            exit(91);
        if (child == 0) {
            settings.wait_children = 0;
            return;
        }
        settings.children++;
    }
}

static void spawn_some(char **argv) {
    for (long i = 0; i < settings.spawn_children; i++) {
        pid_t child = fork();
        if (child < 0)
            exit(91);
        if (child == 0) {
            for (char **word = argv; *word != NULL; word++)
                if (strncmp(*word, "--spawn=", 8) == 0)
                    *word = "--spawn=0";
            execv("/proc/self/exe", argv);
            _exit(92);
        }
        settings.children++;
    }
}

static void wait_for_children(void) {
    for (; settings.wait_children != 0 && settings.children > 0; settings.children--) {
        int status = 0;
        if (wait(&status) < 0 || status != 0)
            settings.status = 90;
    }
}

/* In a child forked after cuInit a launch must fail, as it does with a real driver. */
static void try_in_forked_children(void) {
    for (long i = 0; i < settings.fork_after; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(try_launch() == 3 ? 0 : 93);
        settings.children++;
    }
}

static int finish(void) {
    if (settings.ready_file != NULL) {
        FILE *file = fopen(settings.ready_file, "we");
        if (file != NULL)
            fclose(file);
    }
    wait_for(settings.until_file);
    if (settings.handed_over != 0)
        wait_for_records();
    sleep_ms(settings.linger_ms);
    if (settings.count_sigint != 0)
        count_interrupts();
    wait_for_children();
    fflush(NULL);
    if (strcmp(settings.exit_mode, "exit") == 0)
        exit((int)settings.status);
    if (strcmp(settings.exit_mode, "wait") != 0 && strcmp(settings.exit_mode, "return") != 0)
        end_deliveries();
    if (strcmp(settings.exit_mode, "_exit") == 0)
        _exit((int)settings.status);
    if (strcmp(settings.exit_mode, "abort") == 0)
        abort();
    if (strcmp(settings.exit_mode, "kill") == 0)
        raise(SIGKILL);
    while (strcmp(settings.exit_mode, "wait") == 0)
        pause();
    return (int)settings.status;
}

/* Registered before any tool was loaded, so it runs after the tools' own handlers. */
static void launch_late(void) {
    for (long i = 0; i < settings.late_launches; i++)
        try_launch();
}

int main(int argc, char **argv) {
    parse(argc, argv);
    if (settings.late_launches != 0)
        atexit(launch_late);
    if (settings.count_sigint != 0)
        signal(SIGINT, on_interrupt);
    if (settings.print != NULL)
        puts(settings.print);
    if (settings.print_error != NULL)
        fprintf(stderr, "%s\n", settings.print_error);
    if (settings.echo != 0)
        echo();
    fflush(NULL);
    if (settings.range_before != NULL)
        nvtxRangePushA(settings.range_before);
    spawn_some(argv);
    fork_some(settings.fork_children);
    if (settings.preload != NULL && dlopen(settings.preload, RTLD_NOW | RTLD_LOCAL) == NULL) {
        fprintf(stderr, "fake_program: %s\n", dlerror());
        return 94;
    }
    if (settings.no_cuda == 0)
        use_cuda(&settings);
    if (settings.range_before != NULL)
        nvtxRangePop();
    try_in_forked_children();
    return finish();
}

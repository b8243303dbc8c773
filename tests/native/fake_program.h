/* Between the two halves of the test program: options and life cycle; CUDA work. */
#ifndef FAKE_PROGRAM_H
#define FAKE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct settings {
    long threads, launches, streams, names, copy_every, set_every, malloc_every, sync_every;
    long nvtx_every, range_every, range_gap, profiler_every;
    long noise, driver_api, rate, long_kernel, play;
    long takeover_at, takeover_for, takeover_v2, takeover_subscribe, takeover_multiple;
    long takeover_unsubscribe, takeover_finalize, takeover_clock, takeover_times, takeover_every;
    long takeover_waits, takeover_noticed, handed_over;
    long no_cuda, init_only, fork_children, fork_after, spawn_children, wait_children, children;
    long linger_ms, count_sigint, echo, status, late_launches;
    const char *range_name, *range_form, *range_domain, *range_before;
    const char *takeover_kinds, *takeover_report;
    const char *exit_mode, *print, *print_error, *start_file, *ready_file, *until_file, *preload;
};

/* Open the driver, initialise it and do what the settings say; exits on failure. */
void use_cuda(const struct settings *settings);
/* One launch with the driver that is already open; its CUresult. */
int try_launch(void);
/* Another CUPTI client in the program: what it does after so many launches of the process. */
void peer_after_launch(const struct settings *settings, long launched);
/* Wait until CUPTI has handed over all records so far. */
void wait_for_records(void);
/* And no more are: for a program that kills itself. */
void end_deliveries(void);
/* Ranges around the launches of a thread; see the options. */
void ranges_before_launch(const struct settings *settings, long i);
void ranges_after_launch(const struct settings *settings, long i);
void sleep_ms(long milliseconds);
/* Sleep until a file exists; NULL: do not. */
void wait_for(const char *file);

#endif

/* The two entry points that the CUDA driver and NVTX call, and the start and end of
 * tracing in a process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "etl/locks.h"
#include "inject/descriptors.h"
#include "inject/environment.h"
#include "inject/handshake.h"
#include "inject/injector.h"
#include "inject/nvtx.h"
#include "inject/recording.h"
#include "inject/records.h"
#include "inject/space.h"
#include "inject/timer.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

#define ETL_EXPORT __attribute__((visibility("default")))

ETL_EXPORT int InitializeInjection(void);
ETL_EXPORT int InitializeInjectionNvtx2(void *get_export_table);

static pthread_once_t cupti_once = PTHREAD_ONCE_INIT, start_once = PTHREAD_ONCE_INIT;
static struct etl_error cupti_error;
static int cupti_loaded;

static void load_cupti(void)
{
	cupti_loaded = cupti_api_load(&etl_injector.cupti, &cupti_error) == 0;
}

/* The child of a fork cannot use CUDA, and must not speak for its parent: its copy of
 * the socket would hide the parent's end from the collector. */
static void in_child(void)
{
	etl_store(&etl_injector.active, false);
	etl_close_kept(etl_injector.socket);
	etl_close_kept(etl_injector.memfd);
	etl_injector.socket = etl_injector.memfd = -1;
}

static void at_exit(void)
{
	if (etl_injector_is_ours())
		etl_timer_finish();
}

/* Ends the attempt: the collector learns why, the program goes on untraced. */
static void give_up(struct etl_segment *segment, const char *reason)
{
	snprintf(segment->detail, sizeof segment->detail, "%s", reason);
	etl_store(&segment->state, ETL_NOT_TRACED);
	etl_wakeup_send();
}

static uint32_t steps_wanted(void)
{
	long mb = etl_env_number(ETL_ENV_RING_MB, 256, 1, 4096);
	long steps = mb / (long)(ETL_STEP_BYTES >> 20);

	return steps < 1 ? 1 : (uint32_t)steps;
}

/* The largest segment that can be had; -errno. */
static int create_segment(int *fd, struct etl_error *error)
{
	uint32_t steps = etl_steps_that_fit(steps_wanted(), error);
	int code = -ENOMEM;

	for (; steps; steps /= 2) {
		code = etl_segment_create(steps, &etl_injector.map, fd, error);
		if (code != -ENOMEM && code != -EFBIG)
			break;
	}
	return code;
}

static void note_size(struct etl_segment *segment)
{
	size_t used = strlen(segment->detail);

	if (segment->steps < steps_wanted())
		snprintf(segment->detail + used, sizeof segment->detail - used,
			 "%sits limits leave room for %llu MiB of shared memory, not %llu",
			 used ? "; " : "",
			 (unsigned long long)(segment->steps * ETL_STEP_BYTES >> 20),
			 (unsigned long long)(steps_wanted() * ETL_STEP_BYTES >> 20));
}

static int start_recording(struct etl_error *error)
{
	static struct etl_plan plan;
	const struct etl_records *records;
	int code;

	etl_plan_make(&plan);
	records = etl_records_choose(&plan, error);
	if (!records)
		return -ENOTSUP;
	code = etl_recording_start(&plan, records, error);
	if (code < 0)
		etl_recording_undo();
	return code;
}

static void start(void)
{
	struct etl_map *map = &etl_injector.map;
	struct etl_error error = { "" };
	struct etl_segment *segment;
	int fd = -1, code;

	if (!etl_env(ETL_ENV_SOCKET))
		return; /* injected, but not by a capture of ours */
	etl_injector.pid = getpid();
	etl_injector.wakeup = etl_wakeup_map();
	if (create_segment(&fd, &error) < 0) {
		(void)etl_hello(-1, error.message);
		return;
	}
	segment = map->segment;
	etl_describe_process(segment);
	pthread_once(&cupti_once, load_cupti);
	if (cupti_loaded) {
		segment->cupti_version = etl_injector.cupti.version;
		snprintf(segment->cupti_path, sizeof segment->cupti_path, "%s",
			 etl_injector.cupti.path);
	}
	/* Without it the collector takes the end of the socket for our end. */
	etl_lock_image(fd);
	etl_injector.memfd = etl_move_descriptor(fd);
	etl_keep_descriptor(etl_injector.memfd);
	code = etl_hello(etl_injector.memfd, NULL);
	if (code < 0 && code != -EAGAIN) {
		/* The collector is gone: there is nobody to record for. */
		etl_close_kept(etl_injector.memfd);
		etl_injector.memfd = -1;
		etl_segment_unmap(map);
		return;
	}
	etl_wakeup_send();
	pthread_atfork(NULL, NULL, in_child);
	if (!cupti_loaded) {
		give_up(segment, cupti_error.message);
		return;
	}
	etl_injector.flush_ms = (int)etl_env_number(ETL_ENV_FLUSH_MS, 100, 1, 60000);
	etl_store(&etl_injector.active, true);
	if (start_recording(&error) < 0) {
		give_up(segment, error.message);
		return;
	}
	note_size(segment);
	if (etl_timer_start() < 0) {
		etl_recording_undo();
		give_up(segment, "no thread could be started for flushing CUPTI");
		return;
	}
	etl_store(&segment->state, ETL_TRACING);
	etl_wakeup_send();
	/* Registered after libcupti was loaded, so that it runs before CUPTI's own. */
	atexit(at_exit);
}

/* Called by the CUDA driver inside cuInit, for CUDA_INJECTION64_PATH. */
int InitializeInjection(void)
{
	pthread_once(&start_once, start);
	return 1;
}

/* Called by NVTX at its first use, for NVTX_INJECTION64_PATH; may come before cuInit.
 * CUPTI does the work; ours is only that both entries meet the same libcupti. */
int InitializeInjectionNvtx2(void *get_export_table)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	bool done;

	if (!etl_env(ETL_ENV_SOCKET))
		return 0;
	pthread_once(&cupti_once, load_cupti);
	if (!cupti_loaded || !etl_injector.cupti.nvtx_initialize2)
		return 0;
	/* Each library of the program that uses NVTX comes here with its own copy of it. */
	pthread_mutex_lock(&lock);
	etl_nvtx_before(get_export_table);
	/* CUPTI answers 0 for success, NVTX wants 1 for it. */
	done = etl_injector.cupti.nvtx_initialize2(get_export_table) == CUPTI_OK;
	if (done)
		etl_nvtx_after(get_export_table);
	pthread_mutex_unlock(&lock);
	return done;
}

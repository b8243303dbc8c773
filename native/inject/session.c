/* The start and the end of tracing in a process: once for the driver, and as often as the
 * program's own code asks for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "etl/inside.h"
#include "etl/locks.h"
#include "inject/callbacks.h"
#include "inject/conflict.h"
#include "inject/descriptors.h"
#include "inject/facts.h"
#include "inject/environment.h"
#include "inject/graph_nodes.h"
#include "inject/nccl_rows.h"
#include "inject/nvtx_table.h"
#include "inject/handshake.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/launch_stacks.h"
#include "inject/pc_sampling.h"
#include "inject/python.h"
#include "inject/python_child.h"
#include "inject/range_metrics.h"
#include "inject/sass_metrics.h"
#include "inject/range.h"
#include "inject/ranges.h"
#include "inject/recording.h"
#include "inject/records.h"
#include "inject/session.h"
#include "inject/space.h"
#include "inject/takeover_probe.h"
#include "inject/timer.h"
#include "inject/torch.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_begun; /* with `lock` held */
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

/* One that could not be loaded may be there for a later session. */
int etl_session_load_cupti(struct etl_error *error)
{
	static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
	static bool is_loaded;
	int code = 0;

	pthread_mutex_lock(&loading);
	if (!is_loaded)
		code = cupti_api_load(&etl_injector.cupti, error);
	is_loaded = code == 0;
	pthread_mutex_unlock(&loading);
	return code;
}

/* The child of a fork cannot use CUDA, and must not speak for its parent: its copy of
 * the socket would hide the parent's end from the collector. */
static void in_child(void)
{
	etl_store(&etl_injector.active, false);
	etl_callbacks_forget();
	etl_ranges_in_child();
	etl_close_kept(etl_injector.socket);
	etl_close_kept(etl_injector.memfd);
	etl_injector.socket = etl_injector.memfd = -1;
}

static void at_exit(void)
{
	if (etl_injector_is_ours())
		(void)etl_timer_finish();
}

static void may_end(void)
{
	if (etl_injector_is_ours())
		etl_timer_settle();
}

static void add_hooks(void)
{
	pthread_atfork(NULL, NULL, in_child);
	/* Registered after libcupti was loaded, so that it runs before CUPTI's own. */
	atexit(at_exit);
	etl_python_at_end(may_end);
	etl_python_child_at_end(may_end);
}

/* Ends the attempt: the collector learns why, the program goes on untraced. */
static int give_up(struct etl_segment *segment, int code, const char *reason)
{
	snprintf(segment->detail, sizeof segment->detail, "%s", reason);
	etl_store(&segment->state, ETL_NOT_TRACED);
	etl_wakeup_send();
	return code;
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

static int start_recording(bool is_late, struct etl_error *error)
{
	static struct etl_plan plan;
	const struct etl_records *records;
	int code;

	etl_plan_make(&plan);
	records = etl_records_choose(&plan, error);
	if (!records)
		return -ENOTSUP;
	etl_callbacks_prepare(records->is_selected);
	code = etl_recording_start(&plan, records, is_late, error);
	if (code < 0) {
		etl_recording_undo();
		etl_callbacks_leave();
	}
	return code;
}

/* That of an earlier session, if it is still ours; else a new one.  0 or -errno. */
static int have_segment(struct etl_error *error)
{
	struct etl_map *map = &etl_injector.map;
	int fd = -1, code;

	if (map->segment && etl_is_kept(etl_injector.memfd)) {
		if (etl_is_locked(etl_injector.memfd, ETL_COLLECTOR_LOCK))
			return etl_fail(error, EBUSY,
					"the collector of the capture before still reads its memory");
		etl_segment_renew(map);
		etl_intern_forget();
		return 0;
	}
	/* The program has closed the descriptor.  CUPTI may hold buffers of the old one. */
	code = create_segment(&fd, error);
	if (code < 0)
		return code;
	etl_injector.memfd = etl_move_descriptor(fd);
	etl_keep_descriptor(etl_injector.memfd);
	return 0;
}

/* What is left of a session before, or of the parent's. */
static void forget(void)
{
	etl_hello_forget();
	etl_range_forget();
	etl_ranges_forget();
	etl_facts_forget();
	etl_conflict_forget();
	etl_launch_stacks_forget();
	etl_graph_nodes_forget();
	etl_nccl_forget();
	etl_pc_sampling_forget();
	etl_range_metrics_forget();
	etl_sass_metrics_forget();
	etl_takeover_probe_forget();
}

/* Gives the collector the segment; 0, or -errno where it is gone. */
static int introduce(struct etl_error *error)
{
	int code;

	/* Without it the collector takes the end of the socket for our end. */
	etl_lock_image(etl_injector.memfd);
	code = etl_hello(etl_injector.memfd, NULL);
	if (code < 0 && code != -EAGAIN) {
		/* The collector is gone: there is nobody to record for. */
		etl_unlock_image();
		etl_close_kept(etl_injector.memfd);
		etl_injector.memfd = -1;
		etl_segment_unmap(&etl_injector.map);
		return etl_fail(error, -code, "the collector cannot be reached: %s",
				strerror(-code));
	}
	etl_wakeup_send();
	pthread_once(&hooks_once, add_hooks);
	return 0;
}

/* Records and flushes from here on; 0 or -errno. */
static int begin_recording(bool is_late, struct etl_error *error)
{
	int code;

	etl_injector.flush_ms = (int)etl_env_number(ETL_ENV_FLUSH_MS, 100, 1, 60000);
	etl_store(&etl_injector.active, true);
	if (is_late)
		etl_facts_gather();
	code = start_recording(is_late, error);
	if (code < 0)
		return code;
	etl_nvtx_release();
	note_size(etl_injector.map.segment);
	code = etl_timer_start();
	if (code < 0) {
		etl_recording_undo();
		etl_callbacks_leave();
		return etl_fail(error, -code, "no thread could be started for flushing CUPTI");
	}
	return 0;
}

static int start(bool is_late, struct etl_error *error)
{
	struct etl_error no_cupti;
	struct etl_segment *segment;
	int code, cupti;

	forget();
	etl_injector.pid = getpid();
	etl_injector.wakeup = etl_wakeup_map();
	code = have_segment(error);
	if (code < 0) {
		(void)etl_hello(-1, error->message);
		return code;
	}
	segment = etl_injector.map.segment;
	etl_describe_process(segment);
	cupti = etl_session_load_cupti(&no_cupti);
	if (cupti == 0) {
		segment->cupti_version = etl_injector.cupti.version;
		snprintf(segment->cupti_path, sizeof segment->cupti_path, "%s",
			 etl_injector.cupti.path);
	}
	code = introduce(error);
	if (code < 0)
		return code;
	if (cupti < 0)
		*error = no_cupti;
	code = cupti < 0 ? cupti : begin_recording(is_late, error);
	if (code < 0)
		return give_up(segment, code, error->message);
	etl_store(&segment->state, ETL_TRACING);
	etl_wakeup_send();
	etl_torch_begin();
	return 0;
}

int etl_session_begin(bool is_late, struct etl_error *error)
{
	int code;

	/* Injected, but not by a capture of ours. */
	if (!etl_env(ETL_ENV_SOCKET))
		return etl_fail(error, ENOENT, "no collector is named in the environment");
	pthread_mutex_lock(&lock);
	if (is_begun) {
		code = etl_fail(error, EALREADY, "this process is being captured already");
	} else {
		is_begun = true;
		code = start(is_late, error);
	}
	pthread_mutex_unlock(&lock);
	return code;
}

/* Another session can begin then. */
int cupti_etl_end(struct etl_error *error)
{
	int code = 0;

	pthread_mutex_lock(&lock);
	if (!is_begun || getpid() != etl_injector.pid) {
		code = etl_fail(error, ESRCH, "this process is not being captured");
		goto out;
	}
	/* Before the last flush, or there would be records after it. */
	etl_torch_end();
	etl_recording_stop();
	code = etl_timer_finish();
	if (code < 0) {
		/* Whoever hangs there still uses what a new session would. */
		etl_fail(error, -code, "CUPTI has given no record back for 2 s");
		goto out;
	}
	etl_store(&etl_injector.active, false);
	etl_recording_release();
	etl_callbacks_leave();
	etl_unlock_image();
	etl_close_kept(etl_injector.socket);
	etl_injector.socket = -1;
	etl_wakeup_send();
	is_begun = false;
out:
	pthread_mutex_unlock(&lock);
	return code;
}

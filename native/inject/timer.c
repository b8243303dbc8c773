#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "etl/clock.h"
#include "inject/buffers.h"
#include "inject/callbacks.h"
#include "inject/clock.h"
#include "inject/conflict.h"
#include "inject/facts.h"
#include "inject/graph_nodes.h"
#include "inject/nccl_rows.h"
#include "inject/handshake.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/launch_stacks.h"
#include "inject/pc_rows.h"
#include "inject/pc_sampling.h"
#include "inject/range.h"
#include "inject/range_metrics.h"
#include "inject/range_rows.h"
#include "inject/sass_metrics.h"
#include "inject/ranges.h"
#include "inject/recording.h"
#include "inject/takeover_probe.h"
#include "inject/timer.h"
#include "inject/torch.h"
#include "inject/wakeup.h"

/* A driver that hangs must not keep the program from ending: so long nothing may come, and so
 * often something must, as other threads may still launch. */
enum { PATIENCE_S = 2, MOST_TURNS = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done;
static bool running, stopped, settled;
static bool given_up; /* nobody waits a second time for a flush that hangs */
static _Atomic bool stopping, settling;
/* What the thread sleeps on where there is no wakeup page. */
static _Atomic uint32_t no_orders;

/* The collector's orders and the process's end wake the thread; the word is shared, so
 * others' ends wake it too, which does no harm. */
static _Atomic uint32_t *alarm_clock(void)
{
	return etl_injector.wakeup ? &etl_injector.wakeup->orders : &no_orders;
}

/* Returns at the time, or when the process ends or may end; does what is ordered meanwhile. */
static void sleep_until(const struct timespec *until)
{
	for (;;) {
		/* Acquire, and before looking: an order that comes later changes the word, and
		 * then the kernel does not let us sleep. */
		uint32_t seen = etl_load(alarm_clock());

		if (etl_is_switched_in_calls())
			etl_callbacks_end_orders();
		else
			etl_recording_update(ETL_BY_COLLECTOR);
		if (etl_load(&stopping) || etl_load(&settling))
			return;
		if (syscall(SYS_futex, alarm_clock(), FUTEX_WAIT_BITSET, seen, until, NULL,
			    FUTEX_BITSET_MATCH_ANY) < 0 &&
		    errno != EAGAIN && errno != EINTR)
			return;
	}
}

static void flush(uint32_t flag)
{
	struct etl_segment *segment = etl_injector.map.segment;
	int64_t began_ns;

	etl_graph_nodes_flush();
	etl_nccl_flush();
	etl_launch_stacks_flush();
	etl_callbacks_flush();
	etl_ranges_flush();
	etl_pc_rows_flush();
	etl_range_rows_flush();
	if (etl_recording_is_lost())
		return; /* what CUPTI holds is the other's */
	began_ns = etl_now_ns();
	etl_injector.cupti.flush_all(flag);
	etl_add(&segment->counters.flushes, 1);
	/* Only what came before it is known to be in it. */
	etl_store(&segment->last_flush_ns, (uint64_t)began_ns);
}

/* Touches the pages of steps that are not in use yet: a first touch costs a page
 * fault, and here it is not the launching thread that pays. */
static void prefault(void)
{
	static uint32_t faulted;
	struct etl_map *map = &etl_injector.map;
	uint32_t live = etl_load(&map->segment->steps_live);

	for (; faulted < live && faulted < map->steps; faulted++)
		for (uint64_t at = 0; at < ETL_STEP_BYTES; at += 4096) {
			/* The program's end waits for us; a page fault costs it less. */
			if (etl_peek(&stopping))
				return;
			/* An atomic add of 0, because CUPTI may be writing there already. */
			_Atomic uint8_t *byte =
				(_Atomic uint8_t *)(map->data + faulted * ETL_STEP_BYTES + at);

			etl_add(byte, 0);
		}
}

/* Adds a step while there is still a quarter of the last one left. */
static void grow_in_time(void)
{
	struct etl_map *map = &etl_injector.map;
	uint64_t slots = etl_load(&map->segment->steps_live) * (uint64_t)ETL_SLOTS_PER_STEP;
	unsigned free_large = 0;

	for (uint64_t slot = 0; slot < slots && slot < map->geometry.slots; slot++)
		free_large += etl_slot_is_large(slot) &&
			      etl_peek(&map->slots[slot].state) == ETL_FREE;
	if (free_large < ETL_LARGE_PER_STEP / 4)
		etl_segment_grow(map);
}

/* Whoever brings a clock takes the records too.  One that came and went unseen, or whose records
 * were taken back, has switched kinds off when it ended, and thereby ours. */
static bool is_disturbed(void)
{
	return !etl_records->is_selected && (!etl_clock_is_ours() || etl_recording_is_cut());
}

/* Whether another CUPTI client has come, or has left; after a flush. */
static void look_for_others(void)
{
	bool has_come = etl_takeover_probe_is_lost();

	if (!etl_recording_is_lost() && (has_come || is_disturbed()))
		etl_recording_lose();
	if (etl_recording_is_lost() && etl_conflict_is_over())
		etl_recording_regain();
}

/* First what is complete, then the rest, with unfinished kernels. */
static void flush_all(void)
{
	flush(0);
	flush(CUPTI_FLUSH_FORCED);
}

static void say(bool *what)
{
	pthread_mutex_lock(&lock);
	*what = true;
	given_up = false;
	pthread_cond_broadcast(&done);
	pthread_mutex_unlock(&lock);
}

static void settle(void)
{
	etl_store(&settling, false);
	flush_all();
	etl_facts_say(false);
	etl_store(&etl_injector.map.segment->settled_ns, (uint64_t)etl_now_ns());
	etl_wakeup_send();
	say(&settled);
}

static void *loop(void *unused)
{
	struct etl_segment *segment = etl_injector.map.segment;
	struct timespec next;

	(void)unused;
	pthread_setname_np(pthread_self(), "cupti-etl");
	etl_takeover_probe_call();
	prefault();
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &next);
		etl_hello_again();
		next.tv_nsec += etl_injector.flush_ms * 1000000L;
		next.tv_sec += next.tv_nsec / 1000000000L;
		next.tv_nsec %= 1000000000L;
		sleep_until(&next);
		if (etl_load(&stopping))
			break;
		if (etl_load(&settling)) {
			settle();
			continue;
		}
		flush(0);
		etl_facts_say(false);
		look_for_others();
		etl_intern_answer();
		etl_recording_retry();
		grow_in_time();
		prefault();
		etl_takeover_probe_call();
	}
	etl_hello_again();
	etl_ranges_finish();
	etl_pc_sampling_finish();
	etl_range_metrics_finish();
	etl_sass_metrics_finish();
	etl_nccl_finish();
	flush_all();
	etl_facts_say(true);
	if (etl_takeover_probe_is_lost())
		etl_recording_lose();
	etl_torch_finish();
	etl_recording_finish();
	etl_put(&segment->counters.held_at_end, etl_count_held());
	etl_put(&segment->finished_ns, (uint64_t)etl_now_ns());
	etl_store(&segment->state, ETL_FINISHED);
	etl_wakeup_send();
	say(&stopped);
	return NULL;
}

int etl_timer_start(void)
{
	pthread_condattr_t monotonic;
	int code;

	stopped = given_up = false;
	etl_store(&stopping, false);
	etl_store(&settling, false);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&done, &monotonic);
	code = etl_start_thread(loop);
	running = code == 0;
	return code;
}

/* What grows as long as the last flush gets on. */
static uint64_t progress(void)
{
	const struct etl_counters *counters = &etl_injector.map.segment->counters;

	return etl_peek(&counters->handed_over) + etl_peek(&counters->published) +
	       etl_peek(&counters->pc_rows) + etl_peek(&counters->range_rows);
}

/* With `lock` held: wakes the thread, and waits as long as it gets on; 0 or -ETIMEDOUT. */
static int ask_for(_Atomic bool *order, const bool *is_done)
{
	struct timespec until;
	uint64_t before = progress();
	int turns = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	etl_store(order, true);
	/* Release: the thread that wakes up sees the order. */
	atomic_fetch_add_explicit(alarm_clock(), 1, memory_order_release);
	syscall(SYS_futex, alarm_clock(), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	while (!*is_done && !stopped && !given_up) {
		uint64_t now;

		if (pthread_cond_timedwait(&done, &lock, &until) != ETIMEDOUT)
			continue;
		now = progress();
		given_up = now == before || ++turns == MOST_TURNS;
		before = now;
		until.tv_sec += PATIENCE_S;
	}
	return given_up ? -ETIMEDOUT : 0;
}

void etl_timer_settle(void)
{
	pthread_mutex_lock(&lock);
	settled = false;
	if (running)
		(void)ask_for(&settling, &settled);
	pthread_mutex_unlock(&lock);
}

int etl_timer_finish(void)
{
	int code;

	if (!running)
		return 0;
	pthread_mutex_lock(&lock);
	code = ask_for(&stopping, &stopped);
	if (code < 0)
		etl_store(&etl_injector.map.segment->state, ETL_NOT_FLUSHED);
	running = !stopped;
	pthread_mutex_unlock(&lock);
	return code;
}

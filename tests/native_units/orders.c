/* The collector's orders, carried out by the program's threads as they enter a call: kinds are
 * switched nowhere else, and callbacks stay on until there will be no more orders.  Run under
 * ThreadSanitizer too. */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "inject/injector.h"
#include "inject/orders.h"
#include "inject/recording.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

#define PROGRAM_THREADS 3
#define LAUNCH 5u
#define WAIT 6u
#ifndef ROUNDS
#define ROUNDS 20000
#endif

struct etl_injector etl_injector;
static struct etl_wakeup_page wakeup;
static _Atomic bool is_over;

/* ---- a CUPTI that wants to be asked at the entry of a call */

static _Thread_local bool is_in_entry;
static bool is_begun, is_kernel_on; /* not atomic: two callers would be a race */
static _Atomic uint32_t is_enabled[ETL_MAX_CBID];

static int start_records(const struct etl_plan *plan, struct etl_error *error)
{
	(void)plan;
	(void)error;
	return 0;
}

static int switch_kind(const struct etl_planned *planned, bool on)
{
	(void)planned;
	CHECK(is_in_entry || !is_begun);
	CHECK(is_kernel_on != on);
	is_kernel_on = on;
	return CUPTI_OK;
}

static const struct etl_records records = { .start = start_records, .kind = switch_kind };
static struct etl_plan plan = { .kinds = { { .activity = ETL_ACTIVITY_CONCURRENT_KERNEL } }, .n = 1 };

static int enable_callback(uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid)
{
	CHECK(subscriber == &is_enabled && domain == CUPTI_DOMAIN_DRIVER);
	etl_store(&is_enabled[cbid], on);
	return CUPTI_OK;
}

static int enable_kind(uint32_t kind)
{
	(void)kind;
	return CUPTI_NOT_COMPATIBLE;
}

const char *etl_next_driver_call(const char *const *patterns, uint32_t *cbid)
{
	uint32_t found = strncmp(patterns[0], "cuMem", 5) == 0 ? WAIT : LAUNCH;
	bool is_first = *cbid < found;

	*cbid = found;
	return is_first ? "found" : NULL;
}

const char *cupti_result(const struct cupti_api *cupti, int result)
{
	(void)cupti;
	(void)result;
	return "";
}

int cupti_subscribe(const struct cupti_api *cupti, cupti_callback_fn callback, void **subscriber)
{
	(void)cupti;
	(void)callback;
	(void)subscriber;
	return CUPTI_OK;
}

bool etl_injector_is_ours(void)
{
	return true;
}

void etl_wakeup_send(void)
{
}

/* ---- what callbacks.c does */

static bool is_kept(uint32_t domain, uint32_t cbid)
{
	return domain == CUPTI_DOMAIN_DRIVER && cbid == WAIT;
}

static void enter(uint32_t cbid)
{
	if (!etl_load(&is_enabled[cbid]))
		return;
	is_in_entry = true;
	etl_orders_call(cbid);
	is_in_entry = false;
}

static void *program_thread(void *unused)
{
	(void)unused;
	while (!etl_load(&is_over)) {
		enter(LAUNCH);
		enter(WAIT);
		sched_yield();
	}
	return NULL;
}

static void order(bool paused)
{
	const struct etl_segment *segment = etl_injector.map.segment;
	uint32_t opened = etl_load(&segment->windows_opened);

	etl_store(&wakeup.is_paused, paused);
#ifdef PLANT_OUTSIDE
	etl_recording_update(ETL_BY_COLLECTOR);
#endif
	while (etl_recording_is_on() == paused) {
		/* The looks that the timer's thread takes after each flush switch nothing. */
		CHECK(!etl_recording_is_cut());
		sched_yield();
	}
	CHECK(etl_load(&segment->windows_opened) == opened + !paused);
	opened = etl_load(&segment->windows_opened);
	CHECK(segment->windows[(opened - 1) % ETL_WINDOWS].opened_by ==
	      (opened > 1 ? ETL_BY_COLLECTOR : ETL_BY_PROCESS));
	if (paused)
		CHECK(segment->windows[(opened - 1) % ETL_WINDOWS].closed_by == ETL_BY_COLLECTOR);
}

/* At both ends of a window, as the call begins that switches. */
static void count_launches(void)
{
	const struct etl_window *windows = etl_injector.map.segment->windows;

	etl_store(&wakeup.is_paused, true);
	for (int i = 0; i < 4; i++)
		enter(LAUNCH);
	CHECK(windows[0].launches_off == 0 && !etl_recording_is_on());
	etl_store(&wakeup.is_paused, false);
	enter(LAUNCH);
	CHECK(windows[1].launches_on == 4 && etl_recording_is_on());
	enter(WAIT);
	enter(LAUNCH);
	etl_store(&wakeup.is_paused, true);
	enter(WAIT);
	CHECK(windows[1].launches_off == 6 && windows[1].end_ns);
	etl_store(&wakeup.is_paused, false);
	enter(WAIT);
	CHECK(windows[2].launches_on == 6 && windows[2].end_ns == 0);
}

/* Launches are counted, waits are not; when it is refused, callbacks go. */
static void try_delays(void)
{
	order(true);
	CHECK(etl_load(&wakeup.launches) == 0 && etl_load(&wakeup.recorded) > 0);
	etl_store(&wakeup.trial, ETL_TRIAL_COUNT);
	while (etl_load(&wakeup.launches) < 100)
		sched_yield();
	etl_store(&wakeup.trial, ETL_TRIAL_DELAY);
	for (uint64_t seen = etl_load(&wakeup.launches); etl_load(&wakeup.launches) < seen + 100;)
		sched_yield();
	etl_store(&wakeup.trial, ETL_TRIAL_OFF);
	CHECK(!etl_orders_are_over() && etl_load(&is_enabled[LAUNCH]));
	etl_store(&wakeup.trial, ETL_TRIAL_REFUSED);
	CHECK(etl_orders_are_over());
	etl_orders_disable(&is_enabled, is_kept);
	CHECK(!etl_orders_mean(LAUNCH) && !etl_load(&is_enabled[LAUNCH]));
	/* Nor are they switched on for a subscription that comes later. */
	etl_orders_enable(&is_enabled);
	CHECK(!etl_load(&is_enabled[LAUNCH]));
}

int main(void)
{
	pthread_t threads[PROGRAM_THREADS];
	struct etl_error error;
	int fd = -1;

	CHECK(setenv(ETL_ENV_ORDERS, "1", 1) == 0);
	CHECK(setenv(ETL_ENV_ON_CONFLICT, "keep", 1) == 0);
	CHECK(etl_segment_create(1, &etl_injector.map, &fd, NULL) == 0);
	etl_injector.wakeup = &wakeup;
	etl_injector.cupti.enable = enable_kind;
	etl_injector.cupti.disable = enable_kind;
	etl_injector.cupti.enable_callback = enable_callback;
	CHECK(!etl_orders_mean(LAUNCH));
	etl_orders_enable(&is_enabled);
	CHECK(etl_orders_mean(LAUNCH) && is_enabled[LAUNCH] && is_enabled[WAIT]);
	CHECK(etl_recording_start(&plan, &records, false, &error) == 0);
	CHECK(is_kernel_on);
	is_begun = true;
	count_launches();
	for (int i = 0; i < PROGRAM_THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, program_thread, NULL) == 0);
	for (int round = 0; round < ROUNDS; round++)
		order(round % 2 == 0);
	try_delays();
	etl_store(&is_over, true);
	for (int i = 0; i < PROGRAM_THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(etl_load(&is_enabled[WAIT]));
	etl_segment_unmap(&etl_injector.map);
	close(fd);
	return 0;
}

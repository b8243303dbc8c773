/* Switches recording on and off while the program runs, and keeps the times.
 *
 * Records are made if the collector has not paused them and, with --capture-range, only
 * inside a range.  Kinds whose rows describe what lasts (devices, contexts) are always
 * on, or the work of a later window would belong to nothing. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "etl/clock.h"
#include "etl/inside.h"
#include "inject/conflict.h"
#include "inject/injector.h"
#include "inject/range.h"
#include "inject/recording.h"
#include "inject/trial.h"

const struct etl_records *etl_records;
static struct etl_plan *plan;
static _Atomic bool is_started; /* there is a plan */
static _Atomic uint32_t is_on;
static _Atomic bool is_lost; /* another client has the records */
static _Atomic bool is_paused; /* by the program's own code */
static bool were_recorded; /* kernels, in this window: only whoever switches looks */
static bool was_ordered; /* that nothing be recorded, at the last switch: likewise */
/* 1 while somebody switches, who alone looks at the plan; see etl_recording_update(). */
static _Atomic uint64_t is_switching;

/* By the collector: that nothing be recorded. */
static bool is_ordered(void)
{
	const struct etl_wakeup_page *wakeup = etl_injector.wakeup;

	return wakeup && etl_load(&wakeup->is_paused);
}

static bool is_wanted(void)
{
	return etl_load(&is_started) && !etl_load(&is_paused) && !is_ordered() &&
	       etl_range_is_open() && !etl_recording_is_lost();
}

void etl_recording_note(const char *text)
{
	char *detail = etl_injector.map.segment->detail;
	size_t used = strlen(detail), size = sizeof etl_injector.map.segment->detail;

	snprintf(detail + used, size - used, "%s%s", used ? "; " : "", text);
}

static void note(const char *table, int result)
{
	const char *head = "records that cannot be enabled: ";
	bool is_first = !strstr(etl_injector.map.segment->detail, head);
	char text[256];

	snprintf(text, sizeof text, "%s%s: %s (%d)", is_first ? head : "", table,
		 cupti_result(&etl_injector.cupti, result), result);
	etl_recording_note(text);
}

bool etl_recording_is_on(void)
{
	return etl_load(&is_on);
}

bool etl_recording_is_lost(void)
{
	return etl_load(&is_lost);
}

/* The result for kernels, without which there is no capture. */
static int switch_kinds(bool on, bool lasting)
{
	int kernels = CUPTI_OK;

	for (uint32_t i = 0; i < plan->n; i++) {
		struct etl_planned *planned = &plan->kinds[i];
		int result;

		if (planned->is_lasting != lasting || planned->is_refused)
			continue;
		result = etl_records->kind(planned, on);
		planned->waits = on && result == CUPTI_NOT_READY ? result : 0;
		if (result == CUPTI_OK || !on || planned->waits)
			continue;
		/* A kind that this device or version does not have: the rest goes on. */
		planned->is_refused = true;
		note(etl_kinds[planned->table].table, result);
		if (planned->table == ETL_TABLE_KERNEL)
			kernels = result;
	}
	for (int i = 0; i < 2 && !lasting; i++)
		if (plan->api[i].is_asked_for) {
			int result = etl_records->api(&plan->api[i], on);

			if (result != CUPTI_OK && on) {
				plan->api[i].is_asked_for = false;
				note("api_call", result);
			}
		}
	return kernels;
}

/* Only whoever switches writes here. */
static void open_window(int64_t start_ns, int64_t took_ns, uint64_t launches, enum etl_switch by)
{
	struct etl_segment *segment = etl_injector.map.segment;
	uint32_t opened = etl_peek(&segment->windows_opened);

	segment->windows[opened % ETL_WINDOWS] = (struct etl_window){
		.start_ns = start_ns, .on_ns = took_ns, .opened_by = by, .launches_on = launches
	};
	/* Release: the collector sees the window once it is counted. */
	etl_store(&segment->windows_opened, opened + 1);
}

static void close_window(int64_t end_ns, int64_t took_ns, enum etl_switch by)
{
	struct etl_segment *segment = etl_injector.map.segment;
	uint32_t opened = etl_peek(&segment->windows_opened);
	struct etl_window *window;

	if (opened == 0)
		return;
	window = &segment->windows[(opened - 1) % ETL_WINDOWS];
	if (window->end_ns)
		return;
	window->off_ns = took_ns;
	window->closed_by = by;
	window->launches_off = etl_trial_launches();
	/* Release: the collector takes a window that has an end for complete. */
	__atomic_store_n(&window->end_ns, end_ns, __ATOMIC_RELEASE);
}

static int switch_to(bool on, enum etl_switch by)
{
	uint64_t launches = etl_trial_launches();
	int64_t start_ns = etl_now_ns(), end_ns;
	int result = switch_kinds(on, false);

	were_recorded = false;
	was_ordered = !on && is_ordered();
	end_ns = etl_now_ns();
	/* Inside the window every record is made: it opens when all are switched on, and
	 * closes when the first is to be switched off. */
	if (on)
		open_window(end_ns, end_ns - start_ns, launches, by);
	else
		close_window(start_ns, end_ns - start_ns, by);
	etl_store(&is_on, on);
	return result;
}

/* For what cannot be left to whoever switches, who is in the middle of a few microseconds. */
static void begin_switching(void)
{
	while (!etl_claim(&is_switching, 0, 1))
		sched_yield();
}

static void end_switching(void)
{
	/* An exchange, not a store: it must be seen before we look what is wanted now, or
	 * somebody could leave a change to us that we do not see. */
	atomic_exchange(&is_switching, 0);
}

/* Notes that another client has had the records since then. */
static void lose(int64_t since_ns)
{
	struct etl_segment *segment = etl_injector.map.segment;

	etl_store(&is_lost, true);
	if (!etl_peek(&segment->taken_ns))
		etl_put(&segment->taken_ns, (uint64_t)since_ns);
	etl_put(&segment->regained_ns, 0);
	etl_conflict_begin();
}

static void update(enum etl_switch by, bool is_left)
{
	while (is_wanted() != etl_recording_is_on()) {
		if (!etl_claim(&is_switching, 0, 1))
			return;
		while (is_wanted() != etl_recording_is_on()) {
			bool on = !etl_recording_is_on();
			bool is_order = is_left && (on ? was_ordered : is_ordered());

			switch_to(on, is_order ? ETL_BY_COLLECTOR : by);
		}
		end_switching();
	}
}

/* Called by the timer thread and from the program's own calls.  Nobody waits here: whoever
 * comes while another switches leaves it to that one, who looks again before leaving. */
void etl_recording_update(enum etl_switch by)
{
	update(by, false);
}

void etl_recording_catch_up(void)
{
	update(ETL_BY_RANGE, true);
}

/* What came while we looked at the plan. */
static void update_what_was_left(void)
{
	if (!etl_is_switched_in_calls()) /* or else the program's next call does it */
		etl_recording_catch_up();
}

#define SINGLE_FUNCTIONS_SINCE 130500

/* CUPTI 13.0 takes single functions without effect once CUDA is initialised, and after somebody
 * has switched their kind off; 13.5 does not. */
static void note_single_functions(bool is_first)
{
	for (int i = 0; i < 2; i++)
		plan->api[i].has_single = is_first || etl_injector.cupti.version >= SINGLE_FUNCTIONS_SINCE;
}

int etl_recording_start(struct etl_plan *wanted, const struct etl_records *records, bool is_late,
			struct etl_error *error)
{
	int result;

	plan = wanted;
	etl_records = records;
	note_single_functions(!is_late);
	result = !records->is_selected && etl_conflict_stands(is_late) ?
			 etl_fail(error, EBUSY,
				  "another CUPTI client (a profiler) is active in this process") :
			 records->start(plan, error);
	if (result == -EBUSY)
		lose(etl_injector.map.segment->start_ns);
	if (result < 0 && (result != -EBUSY || etl_conflict_fails()))
		return result;
	if (result == 0)
		switch_kinds(true, true);
	/* Where another client has the records, it may leave. */
	begin_switching();
	etl_store(&is_started, true);
	was_ordered = is_ordered();
	result = is_wanted() ? switch_to(true, ETL_BY_PROCESS) : CUPTI_OK;
	end_switching();
	if (result != CUPTI_OK)
		return etl_fail(error, EIO, "kernel records cannot be enabled: %s (%d)",
				cupti_result(&etl_injector.cupti, result), result);
	update_what_was_left();
	return 0;
}

static int64_t window_start_ns(const struct etl_segment *segment)
{
	uint32_t opened = etl_peek(&segment->windows_opened);

	return opened ? segment->windows[(opened - 1) % ETL_WINDOWS].start_ns : segment->start_ns;
}

/* Nothing is switched off, for by now that would be the other's.  What is sure is that the
 * last buffer of the window came to us; what the other got can be as old as that. */
void etl_recording_lose(void)
{
	const struct etl_segment *segment = etl_injector.map.segment;
	int64_t since_ns, returned_ns = (int64_t)etl_peek(&segment->last_return_ns);

	begin_switching();
	since_ns = window_start_ns(segment);
	since_ns = returned_ns > since_ns ? returned_ns : since_ns;
	lose(since_ns);
	close_window(since_ns, 0, ETL_BY_OTHER_CLIENT);
	etl_store(&is_on, 0);
	end_switching();
}

/* What is switched on before there is work, CUPTI may do only then: kernels that were never seen
 * to be recorded are not cut. */
bool etl_recording_is_cut(void)
{
	uint32_t recorded = etl_plan_kernels(plan);
	bool is_cut = false;

	if (!etl_claim(&is_switching, 0, 1))
		return false; /* the next flush will do */
	if (etl_recording_is_on() && recorded) {
		int kernels = etl_conflict_ask_about_kernels(recorded);

		were_recorded |= kernels == CUPTI_NOT_COMPATIBLE;
		is_cut = were_recorded && kernels == CUPTI_OK;
	}
	end_switching();
	update_what_was_left();
	return is_cut;
}

/* What a thread does inside its range is to be recorded.  Where another one is in the middle of
 * switching on, that takes it as long as it would take us; a bound is for one that is stopped. */
static void await_switch(void)
{
	for (int turn = 0; turn < 1000 && is_wanted() && !etl_recording_is_on() &&
			   etl_load(&is_switching);
	     turn++)
		sched_yield();
}

void etl_recording_count_range(int by)
{
	etl_range_count(by);
	/* Before CUDA is initialised there is nothing to switch; the start looks at the ranges. */
	if (!etl_injector_is_ours())
		return;
	etl_recording_update(ETL_BY_RANGE);
	if (by > 0)
		await_switch();
}

void etl_recording_regain(void)
{
	struct etl_error error;

	if (etl_records->start(plan, &error) < 0)
		return; /* the next flush will do */
	note_single_functions(false);
	switch_kinds(true, true);
	etl_put(&etl_injector.map.segment->regained_ns, (uint64_t)etl_now_ns());
	etl_store(&is_lost, false);
	etl_recording_update(ETL_BY_OTHER_CLIENT);
}

/* What was not ready (unified memory, before there is a context) is asked for again. */
void etl_recording_retry(void)
{
	if (!etl_claim(&is_switching, 0, 1))
		return; /* the next flush will do */
	for (uint32_t i = 0; i < plan->n && etl_recording_is_on(); i++)
		if (plan->kinds[i].waits)
			plan->kinds[i].waits = etl_records->kind(&plan->kinds[i], true);
	end_switching();
	update_what_was_left();
}

/* Nothing more is recorded. */
void etl_recording_undo(void)
{
	switch_kinds(false, false);
	switch_kinds(false, true);
	etl_store(&is_on, 0);
}

void etl_recording_finish(void)
{
	begin_switching();
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->kinds[i].waits)
			note(etl_kinds[plan->kinds[i].table].table, plan->kinds[i].waits);
	close_window(etl_now_ns(), 0, ETL_BY_PROCESS);
	end_switching();
}

void cupti_etl_pause(int paused)
{
	etl_store(&is_paused, paused != 0);
	if (!etl_injector_is_ours())
		return; /* the start looks at it */
	etl_recording_update(ETL_BY_RANGE);
	if (!paused)
		await_switch();
}

void etl_recording_stop(void)
{
	etl_store(&is_started, false);
	/* One in the middle of switching looks again; then it is done for whoever asked. */
	while (etl_recording_is_on() && !etl_recording_is_lost()) {
		etl_recording_update(ETL_BY_PROCESS);
		sched_yield();
	}
}

void etl_recording_release(void)
{
	begin_switching();
	if (plan && !etl_recording_is_lost()) {
		switch_kinds(false, true);
		if (etl_records->stop)
			etl_records->stop();
	}
	etl_store(&is_on, 0);
	etl_store(&is_lost, false);
	etl_store(&is_paused, false);
	end_switching();
}

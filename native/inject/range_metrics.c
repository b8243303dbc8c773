#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "etl/clock.h"
#include "etl/strings.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/plan.h"
#include "inject/range_launch.h"
#include "inject/range_metrics.h"
#include "inject/range_session.h"
#include "inject/recording.h"
#include "../generated/env.h"

/* CUpti_CallbackIdResource. */
enum { CONTEXT_DESTROYED = 2 };
#define MOST_CONTEXTS 16
/* A launch waits so long for one of another thread that is measured. */
#define PATIENCE_NS INT64_C(60000000000)

static struct etl_range_session sessions[MOST_CONTEXTS];
static uint8_t launches[ETL_MAX_CBID]; /* enum etl_launch_call, of the driver's functions */
static bool is_told;
static _Atomic bool is_over;
/* The session that this thread has in hand, between the begin and the return of a launch. */
static _Thread_local struct etl_range_session *measuring;

/* ---- what is asked for */

/* LIMIT:CACHE_CONTROL:METRICS */
static int64_t read_settings(void)
{
	const char *text = etl_env(ETL_ENV_RANGE_METRICS), *expression = etl_env(ETL_ENV_RANGE_FILTER);
	int at = 0;

	memset(&etl_range_asked, 0, sizeof etl_range_asked);
	if (!text || sscanf(text, "%u:%d:%n", &etl_range_asked.limit, &etl_range_asked.cache_control,
			    &at) != 2 || !at)
		return 0;
	etl_range_asked.is_wanted = true;
	etl_range_asked.has_filter = expression != NULL;
	if (strlen(text + at) >= sizeof etl_range_asked.metrics ||
	    (expression && strlen(expression) >= sizeof etl_range_asked.filter))
		return -E2BIG;
	strcpy(etl_range_asked.metrics, text + at);
	if (expression)
		strcpy(etl_range_asked.filter, expression);
	return etl_launch_choice_begin();
}

bool etl_range_metrics_are_wanted(void)
{
	return etl_range_asked.is_wanted;
}

static bool has_all(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	return cupti->profiler_initialize && cupti->profiler_availability && cupti->chip_name &&
	       cupti->host_initialize && cupti->host_deinitialize && cupti->host_add_metrics &&
	       cupti->host_config_size && cupti->host_config_image && cupti->host_passes &&
	       cupti->host_properties && cupti->host_evaluate && cupti->range_enable &&
	       cupti->range_disable && cupti->range_start && cupti->range_stop &&
	       cupti->range_set_config && cupti->range_decode && cupti->range_counter_data_size &&
	       cupti->range_counter_data_initialize && cupti->range_counter_data_info;
}

/* The first reason stays, as what comes later follows from it. */
static void fail(int64_t code)
{
	_Atomic int64_t *failure = &etl_injector.map.segment->counters.range_failure;

	if (!etl_peek(failure))
		etl_put(failure, code);
}

static bool has_failed(void)
{
	return etl_peek(&etl_injector.map.segment->counters.range_failure) != 0;
}

/* ---- contexts */

static struct etl_range_session *find(const void *context)
{
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (etl_load(&sessions[i].state) != ETL_RANGE_EMPTY && sessions[i].context == context)
			return &sessions[i];
	return NULL;
}

/* As the caller's, or NULL. */
static struct etl_range_session *begin(void *context)
{
	struct etl_range_session *session = NULL;
	int64_t code = -ENOSPC;

	for (int i = 0; !session && i < MOST_CONTEXTS; i++)
		if (etl_claim(&sessions[i].state, ETL_RANGE_EMPTY, ETL_RANGE_BUSY))
			session = &sessions[i];
	if (session)
		code = etl_range_session_begin(session, context);
	if (code == 0)
		return session;
	fail(code);
	if (session) {
		session->context = NULL;
		etl_store(&session->state, ETL_RANGE_EMPTY);
	}
	return NULL;
}

/* Waits while another thread's launch is measured: one that ran meanwhile would be measured with
 * it.  With `is_taken`, it is the caller's then. */
static bool wait_for(struct etl_range_session *session, bool is_taken)
{
	const int64_t until = etl_now_ns() + PATIENCE_NS;

	for (;;) {
		uint64_t state = etl_load(&session->state);

		if (state == ETL_RANGE_EMPTY)
			return false;
		if (state == ETL_RANGE_READY &&
		    (!is_taken || etl_claim(&session->state, ETL_RANGE_READY, ETL_RANGE_BUSY)))
			return true;
		if (etl_now_ns() > until)
			return false;
		sched_yield();
	}
}

/* ---- what CUPTI and the timer tell */

static void launch_begins(enum etl_launch_call call, const struct etl_callback_data *data)
{
	struct etl_range_session *session = find(data->context);
	enum etl_left_out reason;
	enum etl_launch_choice choice = ETL_LAUNCH_NOT_ASKED_FOR;
	int64_t code;

	if (etl_recording_is_on() && !has_failed() && is_told)
		choice = etl_launch_choose(call, data->parameters, data->symbol, &reason);
	if (choice == ETL_LAUNCH_LEFT_OUT)
		etl_add(&etl_injector.map.segment->counters.range_left_out[reason], 1);
	if (choice != ETL_LAUNCH_MEASURED) {
		if (session)
			(void)wait_for(session, false);
		return;
	}
	if (!session)
		session = begin(data->context);
	else if (!wait_for(session, true))
		session = NULL;
	if (!session)
		return;
	code = etl_range_session_start(session);
	if (code != 0) {
		fail(code);
		etl_store(&session->state, ETL_RANGE_READY);
		return;
	}
	measuring = session;
}

static void launch_returns(const struct etl_callback_data *data)
{
	struct etl_range_session *session = measuring;
	const int *result = data->result;
	int64_t code;

	if (!session)
		return;
	measuring = NULL;
	code = etl_range_session_stop(session, data->correlation_id, data->symbol,
				      !result || *result == 0);
	if (code != 0)
		fail(code);
	etl_store(&session->state, ETL_RANGE_READY);
}

void etl_range_metrics_call(uint32_t cbid, const struct etl_callback_data *data)
{
	int saved = errno;

	if (cbid >= ETL_MAX_CBID || launches[cbid] == ETL_NO_LAUNCH || !data->context ||
	    !etl_injector_is_ours())
		return;
	if (data->site != 0)
		launch_returns(data);
	else if (!etl_load(&is_over))
		launch_begins(launches[cbid], data);
	errno = saved;
}

static void let_go(struct etl_range_session *session)
{
	etl_range_session_end(session);
	session->context = NULL;
	etl_store(&session->state, ETL_RANGE_EMPTY);
}

void etl_range_metrics_resource(uint32_t cbid, const void *info)
{
	struct { /* CUpti_ResourceData */
		void *context, *stream;
		const void *descriptor;
	} data;
	struct etl_range_session *session;
	int saved = errno;

	if (cbid != CONTEXT_DESTROYED || !etl_range_asked.is_wanted || !info || !etl_injector_is_ours())
		return;
	memcpy(&data, info, sizeof data);
	session = find(data.context);
	if (session && wait_for(session, true))
		let_go(session);
	errno = saved;
}

/* One that is measured right now is left as it is: the process ends, and CUPTI with it. */
void etl_range_metrics_finish(void)
{
	if (!etl_range_asked.is_wanted)
		return;
	etl_store(&is_over, true);
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (etl_claim(&sessions[i].state, ETL_RANGE_READY, ETL_RANGE_BUSY))
			let_go(&sessions[i]);
	etl_range_rows_flush();
}

void etl_range_metrics_flush(void)
{
	if (etl_range_asked.is_wanted)
		etl_range_rows_flush();
}

bool etl_range_metrics_mean(uint32_t domain, uint32_t cbid)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		return cbid < ETL_MAX_CBID && launches[cbid] != ETL_NO_LAUNCH;
	return is_told && domain == CUPTI_DOMAIN_RESOURCE && cbid == CONTEXT_DESTROYED;
}

void etl_range_metrics_enable(void *subscriber)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	if (!etl_range_asked.is_wanted || has_failed())
		return;
	if (etl_range_asked.refusal || !cupti->callback_name || !has_all()) {
		fail(etl_range_asked.refusal ? etl_range_asked.refusal : -ENOSYS);
		return;
	}
	for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++) {
		const char *name = NULL;

		if (cupti->callback_name(CUPTI_DOMAIN_DRIVER, cbid, &name) != CUPTI_OK || !name ||
		    !etl_matches(etl_stacks_launches, name))
			continue;
		launches[cbid] = (uint8_t)etl_launch_call(name);
		if (launches[cbid] != ETL_NO_LAUNCH &&
		    cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, cbid) != CUPTI_OK)
			launches[cbid] = ETL_NO_LAUNCH;
	}
	is_told = cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE, CONTEXT_DESTROYED) ==
		  CUPTI_OK;
	if (!is_told)
		fail(-ENOSYS);
}

void etl_range_metrics_forget(void)
{
	for (int i = 0; i < MOST_CONTEXTS; i++)
		etl_store(&sessions[i].state, ETL_RANGE_EMPTY);
	etl_store(&is_over, false);
	is_told = false;
	measuring = NULL;
	memset(launches, 0, sizeof launches);
	etl_range_rows_forget();
	etl_range_asked.refusal = read_settings();
}

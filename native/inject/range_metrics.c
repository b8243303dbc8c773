#include <errno.h>
#include <pthread.h>
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
/* A launch waits so long for one of another thread that is measured: that one may wait for it. */
#define PATIENCE_NS INT64_C(60000000000)

/* Whose session is whose, and whether there are new ones.  Never held while calling CUPTI. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etl_range_session sessions[MOST_CONTEXTS];
static uint8_t launches[ETL_MAX_CBID]; /* enum etl_launch_call, of the driver's functions */
static bool is_told;
static bool is_over;
/* The session that this thread has in hand, between the begin and the return of a launch. */
static _Thread_local struct etl_range_session *measuring;
/* Calls of this thread's that CUPTI makes inside of a launch that is measured. */
static _Thread_local uint32_t inside;

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

static void leave_out(enum etl_left_out reason)
{
	etl_add(&etl_injector.map.segment->counters.range_left_out[reason], 1);
}

/* ---- contexts */

/* With the lock held. */
static struct etl_range_session *find(const void *context)
{
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (etl_load(&sessions[i].state) != ETL_RANGE_EMPTY && sessions[i].context == context)
			return &sessions[i];
	return NULL;
}

static struct etl_range_session *find_locked(const void *context)
{
	struct etl_range_session *session;

	pthread_mutex_lock(&lock);
	session = find(context);
	pthread_mutex_unlock(&lock);
	return session;
}

/* That of the context; or a new one, which is the caller's and has to begin.  NULL: there is no
 * room, or it is over. */
static struct etl_range_session *find_or_make(void *context, bool *is_new)
{
	struct etl_range_session *session;
	bool is_full = false;

	pthread_mutex_lock(&lock);
	session = is_over ? NULL : find(context);
	*is_new = !is_over && !session;
	for (int i = 0; *is_new && !session && i < MOST_CONTEXTS; i++)
		if (etl_claim(&sessions[i].state, ETL_RANGE_EMPTY, ETL_RANGE_BUSY))
			session = &sessions[i];
	is_full = *is_new && !session;
	if (*is_new && session)
		session->context = context;
	pthread_mutex_unlock(&lock);
	if (is_full)
		fail(-ENOSPC);
	return session;
}

static void forget_session(struct etl_range_session *session)
{
	pthread_mutex_lock(&lock);
	session->context = NULL;
	etl_store(&session->state, ETL_RANGE_EMPTY);
	pthread_mutex_unlock(&lock);
}

static void let_go(struct etl_range_session *session)
{
	etl_range_session_end(session);
	forget_session(session);
}

/* For the next launch; or lets go of it if there is none to come. */
static void release(struct etl_range_session *session)
{
	bool is_last;

	pthread_mutex_lock(&lock);
	is_last = is_over;
	if (!is_last)
		etl_store(&session->state, ETL_RANGE_READY);
	pthread_mutex_unlock(&lock);
	if (is_last)
		let_go(session);
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

/* The session for a launch that is to be measured, or NULL: it runs as always. */
static struct etl_range_session *take(void *context)
{
	bool is_new;
	struct etl_range_session *session = find_or_make(context, &is_new);
	int64_t code;

	if (!session)
		return NULL;
	if (!is_new) {
		if (wait_for(session, true))
			return session;
		if (!has_failed())
			leave_out(ETL_LEFT_OUT_OTHER);
		return NULL;
	}
	code = etl_range_session_begin(session, context);
	if (code == 0)
		return session;
	fail(code);
	forget_session(session);
	return NULL;
}

static void launch_begins(enum etl_launch_call call, const struct etl_callback_data *data)
{
	struct etl_range_session *session;
	enum etl_left_out reason;
	enum etl_launch_choice choice = ETL_LAUNCH_NOT_ASKED_FOR;
	int64_t code;

	if (measuring) {
		inside++;
		return;
	}
	if (etl_recording_is_on() && !has_failed() && is_told)
		choice = etl_launch_choose(call, data->parameters, data->symbol, &reason);
	if (choice == ETL_LAUNCH_LEFT_OUT)
		leave_out(reason);
	if (choice != ETL_LAUNCH_MEASURED) {
		session = find_locked(data->context);
		if (session)
			(void)wait_for(session, false);
		return;
	}
	session = take(data->context);
	if (!session)
		return;
	code = etl_range_session_start(session);
	if (code != 0) {
		fail(code);
		release(session);
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
	if (inside) {
		inside--;
		return;
	}
	measuring = NULL;
	code = etl_range_session_stop(session, data->correlation_id, data->symbol,
				      !result || *result == 0);
	if (code != 0)
		fail(code);
	release(session);
}

void etl_range_metrics_call(uint32_t cbid, const struct etl_callback_data *data)
{
	int saved = errno;

	if (cbid >= ETL_MAX_CBID || launches[cbid] == ETL_NO_LAUNCH || !data->context ||
	    !etl_injector_is_ours())
		return;
	if (data->site != 0)
		launch_returns(data);
	else
		launch_begins(launches[cbid], data);
	errno = saved;
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
	session = find_locked(data.context);
	if (session && wait_for(session, true))
		let_go(session);
	errno = saved;
}

/* One that is measured right now is let go of by its launch. */
void etl_range_metrics_finish(void)
{
	if (!etl_range_asked.is_wanted)
		return;
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_mutex_unlock(&lock);
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

static void forget_all(void)
{
	etl_range_sessions_forget();
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (int i = 0; i < MOST_CONTEXTS; i++)
		etl_store(&sessions[i].state, ETL_RANGE_EMPTY);
}

void etl_range_metrics_forget(void)
{
	/* After a fork, they are of threads that are not here. */
	if (!etl_injector_is_ours())
		forget_all();
	is_over = false;
	for (int i = 0; i < MOST_CONTEXTS; i++)
		is_over = is_over || etl_load(&sessions[i].state) != ETL_RANGE_EMPTY;
	is_told = false;
	memset(launches, 0, sizeof launches);
	if (is_over) {
		/* A launch of the capture before is not back, and uses what stands here. */
		etl_range_asked.is_wanted = etl_env(ETL_ENV_RANGE_METRICS) != NULL;
		etl_range_asked.refusal = -EBUSY;
		return;
	}
	measuring = NULL;
	inside = 0;
	etl_range_rows_forget();
	etl_range_asked.refusal = read_settings();
}

#include <errno.h>
#include <string.h>

#include "etl/strings.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/plan.h"
#include "inject/range.h"
#include "inject/range_contexts.h"
#include "inject/range_launch.h"
#include "inject/range_metrics.h"
#include "inject/range_session.h"
#include "inject/range_user.h"
#include "inject/recording.h"
#include "../generated/env.h"

/* CUpti_CallbackIdResource. */
enum { CONTEXT_DESTROYED = 2, RESOURCES = 1 << CONTEXT_DESTROYED };
static uint8_t launches[ETL_MAX_CBID]; /* enum etl_launch_call, of the driver's functions */
static bool is_told;
/* The session that this thread has in hand, between the begin and the return of a launch. */
static _Thread_local struct etl_range_session *measuring;
/* Calls of this thread's that CUPTI makes inside of a launch that is measured. */
static _Thread_local uint32_t inside;

/* ---- what is asked for */

/* LIMIT:CACHE_CONTROL:IS_BY_RANGE:METRICS */
static int64_t read_settings(void)
{
	const char *text = etl_env(ETL_ENV_RANGE_METRICS), *expression = etl_env(ETL_ENV_RANGE_FILTER);
	int at = 0, is_by_range = 0;

	memset(&etl_range_asked, 0, sizeof etl_range_asked);
	if (!text || sscanf(text, "%u:%d:%d:%n", &etl_range_asked.limit, &etl_range_asked.cache_control,
			    &is_by_range, &at) != 3 || !at)
		return 0;
	etl_range_asked.is_by_range = is_by_range != 0;
	etl_range_asked.run = (uint32_t)etl_env_number(ETL_ENV_REPLAY_RUN, 0, 0, INT32_MAX);
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
	       cupti->range_counter_data_initialize && cupti->range_counter_data_info &&
	       cupti->range_push && cupti->range_pop;
}

/* ---- what CUPTI and the timer tell */

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
	if (etl_recording_is_on() && !etl_range_has_failed() && is_told)
		choice = etl_launch_choose(call, data->parameters, data->symbol, &reason);
	if (choice == ETL_LAUNCH_LEFT_OUT)
		etl_range_leave_out(reason);
	if (choice != ETL_LAUNCH_MEASURED) {
		etl_range_await(data->context);
		return;
	}
	session = etl_range_take(data->context);
	if (!session)
		return;
	code = etl_range_session_start(session, NULL);
	if (code != 0) {
		etl_range_fail(code);
		etl_range_release(session);
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
		etl_range_fail(code);
	etl_range_release(session);
}

void etl_range_metrics_call(uint32_t cbid, const struct etl_callback_data *data)
{
	int saved = errno;

	if (cbid >= ETL_MAX_CBID || launches[cbid] == ETL_NO_LAUNCH || !data->context ||
	    !etl_injector_is_ours())
		return;
	if (etl_range_asked.is_by_range && data->site == 0)
		etl_range_user_launch(data->context, etl_launch_hash(launches[cbid], data->parameters,
								     data->symbol));
	else if (etl_range_asked.is_by_range)
		;
	else if (data->site != 0)
		launch_returns(data);
	else
		launch_begins(launches[cbid], data);
	errno = saved;
}

void etl_range_metrics_resource(uint32_t cbid, const void *info)
{
	const struct cupti_resource *data = info;
	int saved = errno;

	if (cbid != CONTEXT_DESTROYED || !etl_range_asked.is_wanted || !data || !etl_injector_is_ours())
		return;
	etl_range_user_leave(data->context);
	etl_range_context_ends(data->context);
	errno = saved;
}

void etl_range_metrics_finish(void)
{
	if (!etl_range_asked.is_wanted)
		return;
	etl_range_user_leave(NULL);
	etl_range_contexts_finish();
	etl_range_rows_flush();
}

bool etl_range_metrics_mean(uint32_t domain, uint32_t cbid)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		return cbid < ETL_MAX_CBID && launches[cbid] != ETL_NO_LAUNCH;
	return is_told && etl_resources_mean(RESOURCES, domain, cbid);
}

void etl_range_metrics_enable(void *subscriber)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	const char *name;

	if (!etl_range_asked.is_wanted || etl_range_has_failed())
		return;
	if (etl_range_asked.refusal || !cupti->callback_name || !has_all()) {
		etl_range_fail(etl_range_asked.refusal ? etl_range_asked.refusal : -ENOSYS);
		return;
	}
	if (etl_range_asked.is_by_range && etl_range_is_open())
		etl_range_leave_out(ETL_LEFT_OUT_OTHER); /* it was opened before there was CUDA */
	for (uint32_t cbid = 0; (name = etl_next_driver_call(etl_stacks_launches, &cbid));) {
		launches[cbid] = (uint8_t)etl_launch_call(name);
		if (launches[cbid] != ETL_NO_LAUNCH &&
		    cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, cbid) != CUPTI_OK)
			launches[cbid] = ETL_NO_LAUNCH;
	}
	is_told = etl_resources_enable(subscriber, RESOURCES) == CUPTI_OK;
	etl_range_contexts_open(is_told);
	if (!is_told)
		etl_range_fail(-ENOSYS);
}

void etl_range_metrics_forget(void)
{
	const bool is_free = etl_range_contexts_forget();

	is_told = false;
	etl_range_user_forget();
	memset(launches, 0, sizeof launches);
	if (!is_free) {
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

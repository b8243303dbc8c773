#include <errno.h>
#include <string.h>

#include "inject/context_state.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/pc_cubins.h"
#include "inject/pc_rows.h"
#include "inject/plan.h"
#include "inject/recording.h"
#include "inject/sass_context.h"
#include "inject/sass_metrics.h"
#include "../generated/env.h"

/* CUpti_CallbackIdResource. */
enum { CONTEXT_DESTROYED = 2, MODULE_LOADED = 6 };
enum { RESOURCES = 1 << CONTEXT_DESTROYED | 1 << MODULE_LOADED };

#define MOST_CONTEXTS 16
/* A launch waits so long for one of another thread that begins. */
#define PATIENCE_NS INT64_C(10000000000)

/* Whose context is whose.  Never held while calling CUPTI. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etl_sass_context contexts[MOST_CONTEXTS];
static struct etl_launches launches;
static uint32_t told; /* of resources: bits by callback id */

/* ---- what is asked for */

/* Names, with commas between. */
static int64_t read_settings(void)
{
	const char *text = etl_env(ETL_ENV_SASS_METRICS), *expression = etl_env(ETL_ENV_SASS_FILTER);
	struct etl_sass_asked *asked = &etl_sass_asked;

	if (asked->has_filter)
		regfree(&asked->filter);
	memset(asked, 0, sizeof *asked);
	if (!text)
		return 0;
	asked->is_wanted = true;
	if (strlen(text) >= sizeof asked->names)
		return -E2BIG;
	strcpy(asked->names, text);
	for (char *name = asked->names; name && *name;) {
		char *end = strchr(name, ',');

		if (end)
			*end++ = '\0';
		if (asked->count == ETL_MOST_SASS_METRICS)
			return -E2BIG;
		asked->metrics[asked->count++] = name;
		name = end;
	}
	if (!asked->count)
		return -EINVAL;
	if (expression && regcomp(&asked->filter, expression, REG_EXTENDED | REG_NOSUB) != 0)
		return -EINVAL;
	asked->has_filter = expression != NULL;
	return 0;
}

bool etl_sass_metrics_are_wanted(void)
{
	return etl_sass_asked.is_wanted;
}

static bool has_failed(void)
{
	return etl_peek(&etl_injector.map.segment->counters.sass_failure) != 0;
}

static int64_t missing(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	return cupti->profiler_initialize && cupti->chip_name && cupti->sass_properties &&
			       cupti->sass_set_config && cupti->sass_unset_config &&
			       cupti->sass_enable && cupti->sass_disable &&
			       cupti->sass_data_properties && cupti->sass_flush ?
		       0 :
		       -ENOSYS;
}

/* ---- contexts */

/* That of the context; or an empty place, which is the caller's then. */
static struct etl_sass_context *find_or_make(void *context, bool may_make, bool *is_new)
{
	struct etl_sass_context *found = NULL;

	*is_new = false;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MOST_CONTEXTS && !found; i++)
		if (etl_load(&contexts[i].state) != ETL_CONTEXT_EMPTY && contexts[i].context == context)
			found = &contexts[i];
	for (int i = 0; i < MOST_CONTEXTS && !found && may_make; i++)
		if (etl_claim(&contexts[i].state, ETL_CONTEXT_EMPTY, ETL_CONTEXT_BUSY)) {
			found = &contexts[i];
			found->context = context;
			*is_new = true;
		}
	pthread_mutex_unlock(&lock);
	return found;
}

static void release(struct etl_sass_context *counted, bool is_kept)
{
	pthread_mutex_lock(&lock);
	if (!is_kept)
		counted->context = NULL;
	etl_store(&counted->state, is_kept ? ETL_CONTEXT_READY : ETL_CONTEXT_EMPTY);
	pthread_mutex_unlock(&lock);
}

/* For another thread that begins with it. */
static bool wait_for(struct etl_sass_context *counted)
{
	return etl_context_wait(&counted->state, PATIENCE_NS, false);
}

/* Counting begins with the first launch.  Its counts are taken at the end of the program alone:
 * inside of a callback, programs were seen to hang in it. */
static void at_launch(void *context)
{
	const bool on = etl_recording_is_on();
	bool is_new;
	struct etl_sass_context *counted = find_or_make(context, on && !has_failed(), &is_new);
	int64_t code;

	if (!counted) {
		if (on && !has_failed())
			etl_sass_fail(-ENOSPC);
		return;
	}
	if (is_new) {
		code = etl_sass_context_begin(counted);
		if (code != 0)
			etl_sass_fail(code);
		release(counted, code == 0);
	} else {
		(void)wait_for(counted);
	}
}

/* ---- what CUPTI and the timer tell */

void etl_sass_metrics_call(uint32_t cbid, void *context)
{
	etl_launches_call(&launches, cbid, context, at_launch);
}

/* It goes, and what was counted there with it. */
static void forget(void *context)
{
	bool is_new;
	struct etl_sass_context *counted = find_or_make(context, false, &is_new);

	if (!counted || !wait_for(counted))
		return;
	etl_sass_fail(-EOWNERDEAD);
	etl_sass_context_leave(counted);
	release(counted, false);
}

void etl_sass_metrics_resource(uint32_t cbid, const void *info)
{
	const struct cupti_resource *data = info;
	int saved = errno;

	if (!etl_sass_asked.is_wanted || !data || !etl_injector_is_ours())
		return;
	if (cbid == MODULE_LOADED)
		etl_pc_cubin_loaded(data->descriptor);
	else if (cbid == CONTEXT_DESTROYED && !etl_load(&launches.is_over))
		forget(data->context);
	errno = saved;
}

void etl_sass_metrics_finish(void)
{
	if (!etl_sass_asked.is_wanted)
		return;
	etl_store(&launches.is_over, true);
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (etl_load(&contexts[i].state) != ETL_CONTEXT_EMPTY && wait_for(&contexts[i])) {
			etl_sass_context_end(&contexts[i]);
			release(&contexts[i], false);
		}
	etl_pc_rows_flush();
}

bool etl_sass_metrics_mean(uint32_t domain, uint32_t cbid)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		return etl_launches_mean(&launches, cbid);
	return etl_resources_mean(told, domain, cbid);
}

void etl_sass_metrics_enable(void *subscriber)
{
	int64_t code = etl_sass_asked.refusal ? etl_sass_asked.refusal : missing();

	if (!etl_sass_asked.is_wanted)
		return;
	if (code == 0)
		code = etl_resources_enable(subscriber, RESOURCES);
	told = code == 0 ? RESOURCES : 0;
	if (code != 0) {
		etl_sass_fail(code);
		return;
	}
	etl_launches_enable(&launches, subscriber);
}

void etl_sass_metrics_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (int i = 0; i < MOST_CONTEXTS; i++)
		etl_store(&contexts[i].state, ETL_CONTEXT_EMPTY);
	told = 0;
	memset(&launches, 0, sizeof launches);
	etl_sass_contexts_forget();
	etl_sass_asked.refusal = read_settings();
}

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etl/strings.h"
#include "inject/callback_events.h"
#include "inject/callback_watch.h"
#include "inject/callbacks.h"
#include "inject/environment.h"
#include "inject/graph_nodes.h"
#include "inject/injector.h"
#include "inject/launch_stacks.h"
#include "inject/nvtx_table.h"
#include "inject/orders.h"
#include "inject/pc_sampling.h"
#include "inject/profiler.h"
#include "inject/range.h"
#include "inject/range_metrics.h"
#include "inject/sass_metrics.h"
#include "../generated/env.h"

/* From CUPTI 13.3 on, with a driver that knows how, several clients can subscribe. */
#define SEVERAL_SINCE 130300

/* Held while subscriptions change, as CUPTI wants it; no callback waits for it. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
/* What has been subscribed with: the capture's own, of its records, or one that lives without a
 * capture.  etl_injector.subscriber is that of CUPTI's first interface, whoever needs it. */
static void *of_records, *alone;
static bool is_captured; /* between etl_callbacks_prepare() and etl_callbacks_leave() */
static char *selection; /* of the capture's; NULL: it wants none */

/* With `changing` held. */
static void *in_use(void)
{
	return of_records ? of_records : alone ? alone : etl_injector.subscriber;
}

/* Whether anything needs them: the one subscription of CUPTI's first interface is not taken
 * without need, for another client may want it. */
static bool are_wanted(void)
{
	return etl_profiler_is_watched() || etl_launch_stacks_are_wanted() ||
	       etl_pc_sampling_is_wanted() || etl_range_metrics_are_wanted() ||
	       etl_sass_metrics_are_wanted() || etl_is_switched_in_calls() || selection ||
	       etl_watch_any();
}

/* Whether a callback is on for others than the collector's orders. */
static bool is_kept(uint32_t domain, uint32_t cbid)
{
	return etl_watch_wants(domain, cbid) ||
	       (is_captured && (etl_graph_nodes_mean(domain, cbid) ||
				etl_pc_sampling_means(domain, cbid) ||
				etl_range_metrics_mean(domain, cbid) ||
				etl_sass_metrics_mean(domain, cbid) ||
				(domain == CUPTI_DOMAIN_DRIVER && (etl_profiler_means(cbid) ||
								   etl_launch_stacks_mean(cbid)))));
}

void etl_callbacks_end_orders(void)
{
	if (!etl_orders_are_over())
		return;
	pthread_mutex_lock(&changing);
	if (is_captured && in_use())
		etl_orders_disable(in_use(), is_kept);
	pthread_mutex_unlock(&changing);
}

void etl_callbacks_call(void *unused, uint32_t domain, uint32_t cbid, const void *info)
{
	const struct etl_callback_data *data = info;

	(void)unused;
	if (domain == CUPTI_DOMAIN_DRIVER) {
		etl_profiler_call(cbid, data->site == 1);
		etl_graph_nodes_call(cbid, data->site == 1);
		if (data->site == 0) {
			etl_orders_call(cbid);
			etl_launch_stacks_call(cbid, data->correlation_id);
			etl_pc_sampling_call(cbid, data->context);
			etl_sass_metrics_call(cbid, data->context);
		}
		etl_range_metrics_call(cbid, data);
	} else if (domain == CUPTI_DOMAIN_RESOURCE) {
		etl_graph_nodes_resource(cbid, info);
		etl_pc_sampling_resource(cbid, info);
		etl_range_metrics_resource(cbid, info);
		etl_sass_metrics_resource(cbid, info);
	}
	etl_watch_call(domain, cbid, info);
}

/* Switches on what a watch wants; CUPTI's last refusal if there is nothing that it does not
 * refuse. */
static int enable_watch(void *subscriber, int number)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int refusal = CUPTI_NOT_SUPPORTED;
	unsigned n = 0;

	for (uint32_t domain = 1; domain < ETL_CALLBACK_DOMAINS; domain++)
		for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++) {
			int result;

			if (!etl_watch_has(number, domain, cbid))
				continue;
			/* A function that this driver does not have is refused. */
			result = cupti->enable_callback(1, subscriber, domain, cbid);
			n += result == CUPTI_OK;
			refusal = result == CUPTI_OK ? refusal : result;
		}
	return n ? CUPTI_OK : refusal;
}

static int begin_capture_watch(void *subscriber, struct etl_error *error)
{
	int result;

	if (!selection)
		return 0;
	if (!etl_watch_is_on(ETL_CAPTURE_WATCH) &&
	    (result = etl_watch_begin(ETL_CAPTURE_WATCH, selection, NULL, NULL, &etl_injector.map,
				      error)) < 0)
		return result;
	result = enable_watch(subscriber, ETL_CAPTURE_WATCH);
	if (result != CUPTI_OK)
		return etl_fail(error, EIO, "no callback can be had: %s (%d)",
				cupti_result(&etl_injector.cupti, result), result);
	return 0;
}

/* All that anybody needs, for a subscriber that is new, or has become the capture's. */
static int enable_all(void *subscriber, struct etl_error *error)
{
	int code = 0;

	if (!etl_injector.cupti.enable_callback && are_wanted())
		return etl_fail(error, ENOSYS, "this libcupti has no callbacks");
	if (is_captured) {
		code = etl_profiler_enable(subscriber, error);
		if (code == 0)
			code = etl_launch_stacks_enable(subscriber, error);
		if (code == 0)
			etl_graph_nodes_enable(subscriber);
		etl_orders_enable(subscriber);
		if (code == 0)
			etl_pc_sampling_enable(subscriber);
		if (code == 0)
			etl_range_metrics_enable(subscriber);
		if (code == 0)
			etl_sass_metrics_enable(subscriber);
		if (code == 0)
			code = begin_capture_watch(subscriber, error);
	}
	for (int i = ETL_CAPTURE_WATCH + 1; code == 0 && i < ETL_WATCHES; i++)
		if (etl_watch_is_on(i))
			(void)enable_watch(subscriber, i);
	return code;
}

/* ---- a capture's */

int etl_callbacks_enable(void *subscriber, struct etl_error *error)
{
	int code;

	pthread_mutex_lock(&changing);
	of_records = subscriber;
	code = enable_all(subscriber, error);
	pthread_mutex_unlock(&changing);
	return code;
}

/* With `changing` held.  Another client may have ended CUPTI for all, and a subscription of ours
 * with it: then there is a new one to be had, and the old handle leads nowhere. */
static int subscribe_first(struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	void *subscriber = NULL;
	int result = cupti_subscribe(cupti, etl_callbacks_call, &subscriber);

	if (result == CUPTI_MULTIPLE_SUBSCRIBERS && etl_injector.subscriber)
		return 0;
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS)
		return etl_fail(error, EIO,
				"callbacks, Python stacks and --budget need CUPTI's one subscription, and another "
				"profiler has it; torch.profiler keeps it to the program's end, unless "
				"TEARDOWN_CUPTI=1 is set");
	if (result != CUPTI_OK)
		return etl_fail(error, EIO, "cuptiSubscribe: %s (%d)", cupti_result(cupti, result), result);
	etl_injector.subscriber = subscriber;
	return 0;
}

int etl_callbacks_subscribe(struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int code;

	if (!are_wanted())
		return 0;
	if (!cupti->subscribe || !cupti->unsubscribe)
		return etl_fail(error, ENOSYS, "this libcupti has no callbacks");
	pthread_mutex_lock(&changing);
	code = subscribe_first(error);
	if (code == 0)
		code = enable_all(etl_injector.subscriber, error);
	pthread_mutex_unlock(&changing);
	return code;
}

/* ---- without a capture */

/* With `changing` held.  Of the second interface only where others can live beside it: a capture
 * with fixed records could not. */
static int subscribe_alone(struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	if (of_records || alone || etl_injector.subscriber)
		return 0;
	if (!cupti->subscribe || !cupti->unsubscribe || !cupti->enable_callback)
		return etl_fail(error, ENOSYS, "this libcupti has no callbacks");
	if (cupti->version >= SEVERAL_SINCE && cupti->subscribe_v2 &&
	    cupti_subscribe_several(cupti, etl_callbacks_call, &alone) == CUPTI_OK)
		return 0;
	return subscribe_first(error);
}

/* With `changing` held. */
static void unsubscribe(void **subscriber)
{
	if (*subscriber)
		etl_injector.cupti.unsubscribe(*subscriber);
	*subscriber = NULL;
}

/* With `changing` held.  Whether our subscription of the first interface is alive: another client
 * may have ended CUPTI for all, and then there is one to be had. */
static bool is_alive(void)
{
	void *other = NULL;

	if (of_records || alone || !etl_injector.subscriber)
		return true;
	if (cupti_subscribe(&etl_injector.cupti, etl_callbacks_call, &other) != CUPTI_OK)
		return true;
	etl_injector.cupti.unsubscribe(other);
	etl_injector.subscriber = NULL;
	return false;
}

void etl_callbacks_prepare(bool is_selected)
{
	const char *wanted = etl_env(ETL_ENV_CALLBACKS);

	pthread_mutex_lock(&changing);
	is_captured = true;
	/* Now, since the program may change its environment. */
	free(selection);
	selection = wanted ? strdup(wanted) : NULL;
	unsubscribe(&alone);
	if (is_selected)
		unsubscribe(&etl_injector.subscriber);
	pthread_mutex_unlock(&changing);
}

static void disable(void *subscriber, int number)
{
	for (uint32_t domain = 1; subscriber && domain < ETL_CALLBACK_DOMAINS; domain++)
		for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++)
			if (etl_watch_has(number, domain, cbid) && !is_kept(domain, cbid) &&
			    !(is_captured && domain == CUPTI_DOMAIN_DRIVER && etl_orders_mean(cbid)))
				etl_injector.cupti.enable_callback(0, subscriber, domain, cbid);
}

void etl_callbacks_unsubscribe(void **subscriber)
{
	pthread_mutex_lock(&changing);
	of_records = NULL;
	unsubscribe(subscriber);
	pthread_mutex_unlock(&changing);
}

void etl_callbacks_flush(void)
{
	if (etl_watch_is_on(ETL_CAPTURE_WATCH))
		etl_callback_slots_flush(etl_watch_slots(ETL_CAPTURE_WATCH));
}

void etl_callbacks_leave(void)
{
	struct etl_error error;

	if (etl_watch_is_on(ETL_CAPTURE_WATCH)) {
		etl_watch_end(ETL_CAPTURE_WATCH);
		etl_callback_slots_flush(etl_watch_slots(ETL_CAPTURE_WATCH));
	}
	pthread_mutex_lock(&changing);
	is_captured = false;
	/* If it was not given back, it was another client's to end. */
	of_records = NULL;
	(void)is_alive();
	if (!etl_watch_any()) {
		unsubscribe(&etl_injector.subscriber);
	} else if (subscribe_alone(&error) == 0) {
		/* What the capture alone needed stays switched on if the subscription was there
		 * before: it is little, and there is nobody whom it is told. */
		(void)enable_all(in_use(), &error);
	}
	pthread_mutex_unlock(&changing);
}

int etl_callbacks_add(int number, struct etl_error *error)
{
	int result, code;
	bool is_new;

	pthread_mutex_lock(&changing);
	/* One that another client has ended is made anew, for all. */
	(void)is_alive();
	is_new = !in_use();
	code = subscribe_alone(error);
	if (code == 0 && is_new)
		code = enable_all(in_use(), error);
	if (code == 0) {
		result = enable_watch(in_use(), number);
		if (result != CUPTI_OK)
			code = etl_fail(error, EIO, "no callback can be had: %s (%d)",
					cupti_result(&etl_injector.cupti, result), result);
	}
	pthread_mutex_unlock(&changing);
	if (code == 0)
		etl_nvtx_release();
	return code;
}

void etl_callbacks_remove(int number)
{
	etl_watch_stop(number);
	pthread_mutex_lock(&changing);
	if (is_alive())
		disable(in_use(), number);
	if (!is_captured && !etl_watch_any()) {
		unsubscribe(&alone);
		unsubscribe(&etl_injector.subscriber);
	}
	pthread_mutex_unlock(&changing);
	etl_watch_end(number);
}

void etl_callbacks_forget(void)
{
	pthread_mutex_init(&changing, NULL);
	of_records = alone = NULL;
	is_captured = false;
	etl_watch_forget();
}

/* The collector's orders to record, to pause or to try a delay, carried out by the program's own
 * threads where they enter a call of the driver.
 *
 * With CUPTI 13.0 and 13.5, kinds that are switched off and on again and again by another thread,
 * or by a thread that is between two calls or returns from one, cost the program its life after
 * some tens to thousands of times: it crashes or stands still, and before that kernels have no
 * times.  In the callback of a call's entry, tens of thousands of times did no harm, however many
 * threads launched. */
#include "inject/injector.h"
#include "inject/orders.h"
#include "inject/plan.h"
#include "inject/range.h"
#include "inject/recording.h"
#include "inject/trial.h"

/* What programs that have something to record cannot do without. */
static const char *const launches[] = { "cuLaunch*", "cuGraphLaunch*", NULL };
static const char *const others[] = { "cuMemcpy*",          "cuMemset*",
				      "cuCtxSynchronize*",  "cuEventSynchronize",
				      "cuStreamSynchronize*", NULL };

/* The driver's functions, by callback id. */
static bool is_launch[ETL_MAX_CBID], is_place[ETL_MAX_CBID];
/* A callback costs a launch half a microsecond, even if it does nothing: while nothing is recorded,
 * there are some only while there is something to do.  In a window they stay: where they were
 * switched off at its begin, up to two thirds of a program's calls came without times, and none where
 * they were always on (H100, CUPTI 13.0; not told apart from what else differed). */
static _Atomic bool is_armed;

void etl_orders_find(void)
{
	etl_store(&is_armed, false);
	if (!etl_is_switched_in_calls())
		return;
	for (uint32_t cbid = 0; etl_next_driver_call(launches, &cbid);)
		is_place[cbid] = is_launch[cbid] = true;
	for (uint32_t cbid = 0; etl_next_driver_call(others, &cbid);)
		is_place[cbid] = true;
}

bool etl_orders_mean(uint32_t cbid)
{
	return etl_load(&is_armed) && cbid < ETL_MAX_CBID && is_place[cbid];
}

static bool are_needed(void)
{
	return etl_recording_is_due() || etl_recording_is_on() || etl_trial_is_on();
}

static bool are_due(void)
{
	return etl_load(&is_armed) != are_needed();
}

static void arm(void *subscriber, bool (*is_kept)(uint32_t domain, uint32_t cbid))
{
	bool on = are_needed();

	for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++)
		/* A function that this driver does not have is refused. */
		if (is_place[cbid] && (on || !is_kept(CUPTI_DOMAIN_DRIVER, cbid)))
			etl_injector.cupti.enable_callback(on, subscriber, CUPTI_DOMAIN_DRIVER, cbid);
	etl_store(&is_armed, on);
}

void etl_orders_settle(const struct etl_orders_of *of, bool is_patient)
{
	void *subscriber;

	if (!etl_is_switched_in_calls() || !are_due())
		return;
	if (is_patient)
		pthread_mutex_lock(of->changing);
	else if (pthread_mutex_trylock(of->changing) != 0)
		return; /* the next call will do */
	subscriber = of->subscriber();
	/* Whoever had the lock may have done it.  Again: whoever saw the callbacks as they were
	 * before, when they were right for an order that came meanwhile, leaves that to us. */
	while (subscriber && are_due())
		arm(subscriber, of->is_kept);
	pthread_mutex_unlock(of->changing);
}

void etl_orders_call(uint32_t cbid, const struct etl_orders_of *of)
{
	if (!etl_orders_mean(cbid) || !etl_injector_is_ours())
		return;
	etl_recording_catch_up();
	etl_orders_settle(of, false);
	if (is_launch[cbid])
		etl_trial_launch();
}

/* The collector's orders to record, to pause or to try a delay, carried out by the program's own
 * threads where they enter a call of the driver.
 *
 * With CUPTI 13.0 and 13.5, kinds that are switched off and on again and again by another thread,
 * or by a thread that is between two calls or returns from one, cost the program its life after
 * some tens to thousands of times: it crashes or stands still, and before that kernels have no
 * times.  In the callback of a call's entry, tens of thousands of times did no harm, however many
 * threads launched.
 *
 * The callbacks stay on, though they cost a launch half a microsecond.  Where CUPTI sees a thread
 * enter a call and not leave it, because callbacks or the records of calls were switched off
 * meanwhile, all that this thread launches from then on has the correlation of that call.  For the
 * same reason calls are not recorded where there are orders. */
#include "inject/injector.h"
#include "inject/orders.h"
#include "inject/plan.h"
#include "inject/range.h"
#include "inject/recording.h"
#include "inject/trial.h"

/* What programs that have something to record cannot do without. */
static const char *const kernels[] = { "cuLaunchKernel*", "cuLaunchCooperativeKernel*", NULL };
static const char *const others[] = { "cuMemcpy*",          "cuMemset*",
				      "cuCtxSynchronize*",  "cuEventSynchronize",
				      "cuStreamSynchronize*", NULL };

/* The driver's functions, by callback id; none if there are no orders. */
static bool is_kernel[ETL_MAX_CBID], is_launch[ETL_MAX_CBID], is_place[ETL_MAX_CBID];
static _Atomic bool is_on;

static void switch_all(void *subscriber, bool on, bool (*is_kept)(uint32_t domain, uint32_t cbid))
{
	for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++)
		/* A function that this driver does not have is refused. */
		if (is_place[cbid] && (on || !is_kept(CUPTI_DOMAIN_DRIVER, cbid)))
			etl_injector.cupti.enable_callback(on, subscriber, CUPTI_DOMAIN_DRIVER, cbid);
	etl_store(&is_on, on);
}

void etl_orders_enable(void *subscriber)
{
	etl_store(&is_on, false);
	if (!etl_is_switched_in_calls() || etl_trial_is_refused())
		return;
	for (uint32_t cbid = 0; etl_next_driver_call(kernels, &cbid);)
		is_kernel[cbid] = true;
	for (uint32_t cbid = 0; etl_next_driver_call(etl_stacks_launches, &cbid);)
		is_place[cbid] = is_launch[cbid] = true;
	for (uint32_t cbid = 0; etl_next_driver_call(others, &cbid);)
		is_place[cbid] = true;
	switch_all(subscriber, true, NULL);
}

bool etl_orders_are_over(void)
{
	return etl_load(&is_on) && etl_trial_is_refused();
}

void etl_orders_disable(void *subscriber, bool (*is_kept)(uint32_t domain, uint32_t cbid))
{
	switch_all(subscriber, false, is_kept);
}

bool etl_orders_mean(uint32_t cbid)
{
	return etl_load(&is_on) && cbid < ETL_MAX_CBID && is_place[cbid];
}

void etl_orders_call(uint32_t cbid)
{
	if (!etl_orders_mean(cbid) || !etl_injector_is_ours())
		return;
	etl_recording_catch_up();
	if (is_kernel[cbid] && etl_recording_is_on() && etl_injector.wakeup)
		etl_add(&etl_injector.wakeup->recorded, 1);
	if (is_launch[cbid])
		etl_trial_launch();
}

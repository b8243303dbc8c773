/* The collector's orders to record or to pause, carried out where the program has waited for the
 * GPU.
 *
 * With CUPTI 13.0, kinds that are switched off and on again and again while kernels run cost the
 * program its life after some tens or hundreds of times: kernels have no times or those of no
 * clock, and then it crashes, whichever thread switches.  Switched when the GPU had done all that
 * was launched, they did not.  So a thread does it that comes back from such a wait. */
#include <pthread.h>

#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/orders.h"
#include "inject/plan.h"
#include "inject/recording.h"
#include "../generated/env.h"

/* Behind a wait for one stream, work of others may run; most programs have one. */
static const char *const waits[] = { "cuCtxSynchronize*", "cuStreamSynchronize*", NULL };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_asked;
static bool is_wait[ETL_MAX_CBID]; /* the driver's functions, by callback id */

static void read_setting(void)
{
	is_asked = etl_env(ETL_ENV_ORDERS) != NULL;
}

bool etl_orders_wait(void)
{
	pthread_once(&once, read_setting);
	return is_asked;
}

bool etl_orders_mean(uint32_t cbid)
{
	return cbid < ETL_MAX_CBID && is_wait[cbid];
}

void etl_orders_enable(void *subscriber)
{
	if (!etl_orders_wait())
		return;
	for (uint32_t cbid = 0; etl_next_driver_call(waits, &cbid);)
		is_wait[cbid] = etl_injector.cupti.enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER,
								   cbid) == CUPTI_OK;
}

void etl_orders_call(uint32_t cbid, bool is_return)
{
	if (is_return && etl_orders_mean(cbid) && etl_injector_is_ours())
		etl_recording_update(ETL_BY_COLLECTOR);
}

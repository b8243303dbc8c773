/* cudaProfilerStart and cudaProfilerStop, as CUPTI's callbacks tell of them.  The runtime's
 * functions call the driver's, so watching those is enough. */
#include <errno.h>
#include <string.h>

#include "inject/injector.h"
#include "inject/profiler.h"
#include "inject/range.h"
#include "inject/range_user.h"

static uint32_t start_cbid, stop_cbid;
/* Stop without start, and start twice, mean nothing. */
static _Atomic uint64_t is_started;

void etl_profiler_call(uint32_t cbid, bool is_return)
{
	if (!start_cbid)
		return;
	if (cbid == start_cbid && is_return && etl_claim(&is_started, 0, 1))
		etl_range_user_count(1);
	else if (cbid == stop_cbid && !is_return && etl_claim(&is_started, 1, 0))
		etl_range_user_count(-1);
}

bool etl_profiler_means(uint32_t cbid)
{
	return cbid == start_cbid || cbid == stop_cbid;
}

bool etl_profiler_is_watched(void)
{
	return etl_range() && strcmp(etl_range(), "cudaProfilerApi") == 0;
}

int etl_profiler_enable(void *subscriber, struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int result;

	if (!etl_profiler_is_watched())
		return 0;
	if (!cupti->enable_callback || !cupti->callback_name)
		return etl_fail(error, ENOSYS, "this libcupti has no callbacks");
	start_cbid = cupti_driver_cbid(cupti, "cuProfilerStart");
	stop_cbid = cupti_driver_cbid(cupti, "cuProfilerStop");
	if (!start_cbid || !stop_cbid)
		return etl_fail(error, ENOSYS, "this libcupti does not know cuProfilerStart");
	result = cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, start_cbid);
	if (result == CUPTI_OK)
		result = cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, stop_cbid);
	if (result != CUPTI_OK)
		return etl_fail(error, EIO, "cuProfilerStart cannot be watched: %s (%d)",
				cupti_result(cupti, result), result);
	return 0;
}

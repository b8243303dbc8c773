#include <errno.h>

#include "inject/callbacks.h"
#include "inject/injector.h"
#include "inject/launch_stacks.h"
#include "inject/profiler.h"

/* CUpti_CallbackData. */
struct callback_data {
	uint32_t site; /* 0: the call begins, 1: it returns */
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation_id;
};

bool etl_callbacks_are_wanted(void)
{
	return etl_profiler_is_watched() || etl_launch_stacks_are_wanted();
}

void etl_callbacks_call(void *unused, uint32_t domain, uint32_t cbid, const void *info)
{
	const struct callback_data *data = info;

	(void)unused;
	if (domain != CUPTI_DOMAIN_DRIVER)
		return;
	etl_profiler_call(cbid, data->site == 1);
	if (data->site == 0)
		etl_launch_stacks_call(cbid, data->correlation_id);
}

int etl_callbacks_enable(void *subscriber, struct etl_error *error)
{
	int code = etl_profiler_enable(subscriber, error);

	return code < 0 ? code : etl_launch_stacks_enable(subscriber, error);
}

int etl_callbacks_subscribe(struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	void *subscriber = NULL;
	int result;

	if (!etl_callbacks_are_wanted())
		return 0;
	if (!cupti->subscribe || !cupti->unsubscribe)
		return etl_fail(error, ENOSYS, "this libcupti has no callbacks");
	/* Another client may have ended CUPTI for all, and a subscription of ours with it: then
	 * there is a new one to be had, and the old handle leads nowhere. */
	result = cupti_subscribe(cupti, etl_callbacks_call, &subscriber);
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS && etl_injector.subscriber)
		return 0;
	if (result != CUPTI_OK)
		return etl_fail(error, EIO, "cuptiSubscribe: %s (%d)", cupti_result(cupti, result),
				result);
	etl_injector.subscriber = subscriber;
	return etl_callbacks_enable(subscriber, error);
}

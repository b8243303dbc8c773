/* Another CUPTI client in this process: who wins, and how we come back.
 *
 * Before its version 13.3 CUPTI serves one client, and the one that registers last gets
 * all records.  --on-conflict says what then: `yield` leaves them to the other until it
 * has left, `keep` takes them back at once, `fail` makes the collector end the program.
 * While another has the records, nothing is switched: its kinds are switched with the same
 * calls. */
#include <string.h>

#include "etl/clock.h"
#include "inject/conflict.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "../generated/env.h"

#define PERIOD_NS INT64_C(1000000000)

/* Only the timer thread's. */
static int64_t looked_ns;
static bool was_recording; /* the other, when it was looked at */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool keeps, fails; /* neither: yield */
static bool finalizes; /* PyTorch's profiler will end CUPTI for all, a little after its own end */

static void read_policy(void)
{
	const char *policy = etl_env(ETL_ENV_ON_CONFLICT);
	const char *teardown = etl_env("TEARDOWN_CUPTI");

	finalizes = teardown && strcmp(teardown, "0") != 0;

	keeps = policy && strcmp(policy, "keep") == 0;
	fails = policy && strcmp(policy, "fail") == 0;
}

/* Read once, at the start: the program may change its environment under the timer thread. */
static bool is_kept(void)
{
	pthread_once(&once, read_policy);
	return keeps;
}

static void noop_callback(void *data, uint32_t domain, uint32_t cbid, const void *info)
{
	(void)data;
	(void)domain;
	(void)cbid;
	(void)info;
}

/* Asking for the one subscription, and giving it back at once, tells whether another has
 * it. */
static bool is_subscribed(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	void *subscriber = NULL;
	int result;

	/* While it is ours, nobody else has it. */
	if (!cupti->subscribe || !cupti->unsubscribe || etl_injector.subscriber)
		return false;
	result = cupti_subscribe(cupti, noop_callback, &subscriber);
	if (result == CUPTI_OK)
		cupti->unsubscribe(subscriber);
	return result == CUPTI_MULTIPLE_SUBSCRIBERS;
}

void etl_conflict_forget(void)
{
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
}

bool etl_conflict_fails(void)
{
	pthread_once(&once, read_policy);
	return fails;
}

void etl_conflict_begin(void)
{
	looked_ns = etl_now_ns();
	was_recording = false;
}

int etl_conflict_ask_about_kernels(uint32_t recorded)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	uint32_t other = recorded == ETL_ACTIVITY_KERNEL ? ETL_ACTIVITY_CONCURRENT_KERNEL :
							   ETL_ACTIVITY_KERNEL;
	int result = cupti->enable(other);

	if (result == CUPTI_OK)
		cupti->disable(other);
	return result;
}

/* Another client that comes with the program may switch on later what it records.  One that is there
 * when the program's own code begins a capture has had its time: PyTorch's profiler keeps its
 * subscription when it is done. */
bool etl_conflict_stands(bool is_late)
{
	if (is_kept() || !is_subscribed())
		return false;
	return !is_late || finalizes ||
	       etl_conflict_ask_about_kernels(ETL_ACTIVITY_CONCURRENT_KERNEL) != CUPTI_OK;
}

/* Mostly a client that leaves gives its subscription back.  PyTorch's profiler keeps it, and
 * only switches off what it had recorded.  One that has just come may not have switched on yet:
 * it was seen to record, or had a second for it. */
static bool has_left(void)
{
	int64_t now = etl_now_ns();
	bool is_due = now - looked_ns >= PERIOD_NS;
	int kernels;

	if (is_kept())
		return true;
	if (is_due)
		looked_ns = now;
	if (!finalizes) {
		kernels = etl_conflict_ask_about_kernels(ETL_ACTIVITY_CONCURRENT_KERNEL);
		was_recording |= kernels == CUPTI_NOT_COMPATIBLE;
		if (kernels == CUPTI_OK && (was_recording || is_due))
			return true;
	}
	return is_due && !is_subscribed();
}

bool etl_conflict_is_over(void)
{
	return !etl_conflict_fails() && has_left();
}

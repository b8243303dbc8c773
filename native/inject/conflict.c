/* Another CUPTI client in this process: who wins, and how we come back.
 *
 * Before its version 13.3 CUPTI serves one client, and the one that registers last gets
 * all records.  --on-conflict says what then: `yield` leaves them to the other until it
 * gives its subscription back, `keep` takes them back at once, `fail` makes the collector
 * end the program.  While another has the records, nothing is switched: its kinds are
 * switched with the same calls. */
#include <string.h>

#include "inject/plan.h"
#include "../generated/env.h"

#define PERIOD_NS INT64_C(1000000000)

static _Atomic bool is_lost;
/* Only the timer thread's. */
static int64_t looked_ns;

bool etl_conflict_is_lost(void)
{
	return etl_load(&is_lost);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool keeps, fails; /* neither: yield */

static void read_policy(void)
{
	const char *policy = etl_env(ETL_ENV_ON_CONFLICT);

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

	if (!cupti->subscribe || !cupti->unsubscribe)
		return false;
	result = cupti_subscribe(cupti, noop_callback, &subscriber);
	if (result == CUPTI_OK)
		cupti->unsubscribe(subscriber);
	return result == CUPTI_MULTIPLE_SUBSCRIBERS;
}

bool etl_conflict_fails(void)
{
	pthread_once(&once, read_policy);
	return fails;
}

bool etl_conflict_stands(void)
{
	return !is_kept() && is_subscribed();
}

void etl_conflict_lost(int64_t since_ns)
{
	struct etl_segment *segment = etl_injector.map.segment;

	etl_store(&is_lost, true);
	if (!etl_peek(&segment->taken_ns))
		etl_put(&segment->taken_ns, (uint64_t)since_ns);
	etl_put(&segment->regained_ns, 0);
	/* Who keeps them does not wait. */
	looked_ns = is_kept() ? 0 : etl_now_ns();
}

void etl_conflict_look(void)
{
	struct etl_error error = { "" };
	int64_t now = etl_now_ns();

	if (!etl_conflict_is_lost() || now - looked_ns < PERIOD_NS)
		return;
	looked_ns = now;
	if (etl_conflict_stands() || etl_conflict_fails() || etl_recording_regain(&error) < 0)
		return;
	etl_put(&etl_injector.map.segment->regained_ns, (uint64_t)etl_now_ns());
	etl_store(&is_lost, false);
	etl_recording_update(ETL_BY_OTHER_CLIENT);
}

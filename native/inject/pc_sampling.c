#include <errno.h>
#include <string.h>
#include <time.h>

#include "inject/context_state.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/pc_context.h"
#include "inject/pc_cubins.h"
#include "inject/pc_rows.h"
#include "inject/pc_sampling.h"
#include "inject/plan.h"
#include "inject/recording.h"
#include "../generated/env.h"

/* CUpti_CallbackIdResource. */
enum { CONTEXT_CREATED = 1, CONTEXT_DESTROYED = 2, MODULE_LOADED = 6 };
enum { RESOURCES = 1 << CONTEXT_CREATED | 1 << CONTEXT_DESTROYED | 1 << MODULE_LOADED };

/* CUDA 12.8: before it, CUPTI samples nothing while concurrent kernels are recorded. */
#define BESIDE_ACTIVITY_SINCE 26

/* ---- what is asked for */

static uint32_t told; /* of resources: bits by callback id */

/* PERIOD:SERIALIZED:BY_LAUNCH:CUBINS:ON_NS:CYCLE_NS */
static void read_settings(void)
{
	const char *text = etl_env(ETL_ENV_PC_SAMPLING);
	unsigned period, serialized, by_launch, cubins;
	long long on_ns, cycle_ns;

	memset(&etl_pc_asked, 0, sizeof etl_pc_asked);
	if (!text || sscanf(text, "%u:%u:%u:%u:%lld:%lld", &period, &serialized, &by_launch, &cubins,
			    &on_ns, &cycle_ns) != 6)
		return;
	etl_pc_asked.is_wanted = true;
	etl_pc_asked.period = period;
	etl_pc_asked.is_serialized = serialized;
	etl_pc_asked.has_cubins = cubins;
	etl_pc_asked.on_ns = on_ns;
	etl_pc_asked.cycle_ns = cycle_ns;
	etl_pc_asked.is_by_launch = by_launch || cycle_ns;
}

bool etl_pc_sampling_is_wanted(void)
{
	return etl_pc_asked.is_wanted;
}

static int64_t missing(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	if (!cupti->pc_enable || !cupti->pc_disable || !cupti->pc_configure ||
	    !cupti->pc_get_data || !cupti->pc_count_reasons || !cupti->pc_reasons ||
	    (etl_pc_asked.cycle_ns && (!cupti->pc_start || !cupti->pc_stop)))
		return -ENOSYS;
	return cupti->version < BESIDE_ACTIVITY_SINCE ? -EOPNOTSUPP : 0;
}

/* ---- contexts */

#define MOST_CONTEXTS 64

static struct etl_pc_context contexts[MOST_CONTEXTS];
static _Atomic uint64_t has_thread;
static _Atomic bool is_on_duty; /* in a duty cycle: that it is time to sample */
static struct etl_launches launches;

static bool take(struct etl_pc_context *sampled)
{
	return etl_context_wait(&sampled->state, INT64_C(1000000000), true);
}

/* ---- the thread, which alone samples while the program runs */

/* How long one collection gathers where sampling is not switched on and off. */
#define WINDOW_NS INT64_C(1000000000)

static void nap(int64_t ns)
{
	/* Short naps, so that the end of the process does not wait for this thread. */
	while (ns > 0 && !etl_load(&launches.is_over)) {
		int64_t part = ns < 20000000 ? ns : 20000000;
		const struct timespec wanted = { 0, part };

		nanosleep(&wanted, NULL);
		ns -= part;
	}
}

static void collect_all(void)
{
	for (int i = 0; i < MOST_CONTEXTS && !etl_load(&launches.is_over); i++) {
		if (!etl_claim(&contexts[i].state, ETL_CONTEXT_READY, ETL_CONTEXT_BUSY))
			continue;
		etl_pc_context_collect(&contexts[i]);
		etl_store(&contexts[i].state, ETL_CONTEXT_READY);
	}
}

/* With a duty cycle it says when to sample, which launches do. */
static void *loop(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "cupti-etl-pc");
	while (!etl_load(&launches.is_over) && etl_injector_is_ours()) {
		etl_store(&is_on_duty, true);
		nap(etl_pc_asked.cycle_ns ? etl_pc_asked.on_ns : WINDOW_NS);
		etl_store(&is_on_duty, !etl_pc_asked.cycle_ns);
		nap(etl_pc_asked.cycle_ns ? etl_pc_asked.cycle_ns - etl_pc_asked.on_ns : 0);
		collect_all();
	}
	etl_store(&has_thread, 0);
	return NULL;
}

static void have_thread(void)
{
	if (etl_claim(&has_thread, 0, 1) && etl_start_thread(loop) < 0) {
		etl_store(&has_thread, 0);
		etl_pc_fail(-EAGAIN);
	}
}

/* ---- what CUPTI and the timer tell */

static void begin(void *context)
{
	struct etl_pc_context *sampled = NULL;
	int64_t code = missing();

	if (!context || etl_load(&launches.is_over))
		return;
	for (int i = 0; code == 0 && !sampled && i < MOST_CONTEXTS; i++)
		if (etl_claim(&contexts[i].state, ETL_CONTEXT_EMPTY, ETL_CONTEXT_BUSY))
			sampled = &contexts[i];
	if (sampled) {
		sampled->context = context;
		code = etl_pc_context_begin(sampled);
		etl_store(&sampled->state, code == 0 ? ETL_CONTEXT_READY : ETL_CONTEXT_EMPTY);
	} else if (code == 0) {
		code = -ENOSPC;
	}
	if (code != 0)
		etl_pc_fail(code);
	else
		have_thread();
}

static struct etl_pc_context *find(const void *context)
{
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (contexts[i].context == context && etl_load(&contexts[i].state) != ETL_CONTEXT_EMPTY)
			return &contexts[i];
	return NULL;
}

static void leave(struct etl_pc_context *sampled)
{
	etl_pc_context_end(sampled);
	sampled->context = NULL;
	etl_store(&sampled->state, ETL_CONTEXT_EMPTY);
}

/* A thread that has it in hand leaves it as it is: the next launch comes here, too. */
static void at_launch(void *context)
{
	struct etl_pc_context *sampled = find(context);
	bool on = etl_recording_is_on(), is_wanted;

	if (!sampled && on && !etl_peek(&etl_injector.map.segment->counters.pc_failure))
		begin(context);
	sampled = find(context);
	is_wanted = on && etl_load(&is_on_duty);
	if (!sampled || (on && (!etl_pc_asked.cycle_ns || sampled->is_running == is_wanted)) ||
	    !etl_claim(&sampled->state, ETL_CONTEXT_READY, ETL_CONTEXT_BUSY))
		return;
	if (on) {
		etl_pc_context_switch(sampled, is_wanted);
		etl_store(&sampled->state, ETL_CONTEXT_READY);
	} else {
		/* Records of kernels cannot be switched on again while it samples. */
		leave(sampled);
	}
}

void etl_pc_sampling_call(uint32_t cbid, void *context)
{
	etl_launches_call(&launches, cbid, context, at_launch);
}

static void context_ends(const void *context)
{
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (contexts[i].context == context && take(&contexts[i]))
			leave(&contexts[i]);
}

void etl_pc_sampling_resource(uint32_t cbid, const void *info)
{
	const struct cupti_resource *data = info;
	int saved = errno;

	if (!etl_pc_asked.is_wanted || !data || !etl_injector_is_ours())
		return;
	if (cbid == CONTEXT_CREATED && !etl_pc_asked.is_by_launch)
		begin(data->context);
	else if (cbid == CONTEXT_DESTROYED)
		context_ends(data->context);
	else if (cbid == MODULE_LOADED && etl_pc_asked.has_cubins)
		etl_pc_cubin_loaded(data->descriptor);
	errno = saved;
}

void etl_pc_sampling_finish(void)
{
	if (!etl_pc_asked.is_wanted)
		return;
	etl_store(&launches.is_over, true);
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (etl_load(&contexts[i].state) != ETL_CONTEXT_EMPTY && take(&contexts[i]))
			leave(&contexts[i]);
	etl_pc_rows_flush();
}

bool etl_pc_sampling_means(uint32_t domain, uint32_t cbid)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		return etl_launches_mean(&launches, cbid);
	return etl_resources_mean(told, domain, cbid);
}

void etl_pc_sampling_enable(void *subscriber)
{
	int64_t code = missing();

	if (!etl_pc_asked.is_wanted)
		return;
	if (code == 0)
		code = etl_resources_enable(subscriber, RESOURCES);
	told = code == 0 ? RESOURCES : 0;
	if (code != 0)
		etl_pc_fail(code);
	else if (etl_pc_asked.is_by_launch)
		etl_launches_enable(&launches, subscriber);
}

void etl_pc_sampling_forget(void)
{
	for (int i = 0; i < MOST_CONTEXTS; i++)
		etl_store(&contexts[i].state, ETL_CONTEXT_EMPTY);
	told = 0;
	memset(&launches, 0, sizeof launches);
	etl_pc_rows_forget();
	etl_pc_cubins_forget();
	read_settings();
}

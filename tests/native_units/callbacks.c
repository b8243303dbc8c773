/* Callbacks that come on several threads while functions begin and stop to hear of them, in slots
 * and in line: each is told once or not at all, nothing is told behind an end, and the subscription
 * is held as long as somebody needs it.  Run under ThreadSanitizer too. */
#include <string.h>

#include "check.h"
#include "etl/clock.h"
#include "inject/callback_events.h"
#include "inject/callback_watch.h"
#include "inject/callbacks.h"
#include "inject/graph_nodes.h"
#include "inject/orders.h"
#include "inject/range.h"
#include "inject/pc_sampling.h"
#include "inject/range_metrics.h"
#include "inject/sass_metrics.h"
#include "inject/injector.h"
#include "inject/launch_stacks.h"
#include "inject/nvtx_table.h"
#include "inject/plan.h"
#include "inject/profiler.h"
#include "inject/recording.h"
#include "inject/session.h"
#include "inject/wakeup.h"

#define CALLERS 4
#ifndef ROUNDS
#define ROUNDS 4000
#endif
#define LAUNCH 307u
#define COPY 277u

/* ---- a CUPTI with two functions */

struct etl_injector etl_injector;
static _Atomic uint32_t n_subscribers, is_enabled[ETL_MAX_CBID];

static int subscribe(void **subscriber, void *callback, void *data)
{
	static int handle;

	CHECK(callback && !data);
	if (atomic_exchange(&n_subscribers, 1))
		return CUPTI_MULTIPLE_SUBSCRIBERS;
	*subscriber = &handle;
	return CUPTI_OK;
}

static int unsubscribe(void *subscriber)
{
	CHECK(subscriber);
	/* What was switched on, goes with the subscription. */
	for (uint32_t cbid = 0; cbid < ETL_MAX_CBID; cbid++)
		etl_put(&is_enabled[cbid], 0);
	CHECK(atomic_exchange(&n_subscribers, 0) == 1);
	return CUPTI_OK;
}

static int enable_callback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	CHECK(subscriber && domain == CUPTI_DOMAIN_DRIVER && etl_peek(&n_subscribers) == 1);
	etl_put(&is_enabled[cbid], enable);
	return CUPTI_OK;
}

static int callback_name(uint32_t domain, uint32_t cbid, const char **name)
{
	*name = domain != CUPTI_DOMAIN_DRIVER ? NULL :
		cbid == LAUNCH ? "cuLaunchKernel" :
		cbid == COPY ? "cuMemcpyHtoDAsync_v2" : NULL;
	return *name ? CUPTI_OK : CUPTI_INVALID_PARAMETER;
}

int cupti_subscribe(const struct cupti_api *api, cupti_callback_fn callback, void **subscriber)
{
	void *address;

	memcpy(&address, &callback, sizeof address);
	return api->subscribe(subscriber, address, NULL);
}

int cupti_subscribe_several(const struct cupti_api *api, cupti_callback_fn callback, void **subscriber)
{
	return cupti_subscribe(api, callback, subscriber);
}

const char *cupti_result(const struct cupti_api *api, int result)
{
	(void)api;
	(void)result;
	return "";
}

/* ---- what the rest of the injector would be */

bool etl_injector_is_ours(void) { return false; }
void etl_nvtx_release(void) {}
bool etl_recording_is_on(void) { return false; }
void etl_wakeup_send(void) {}
int etl_session_load_cupti(struct etl_error *error) { (void)error; return 0; }
size_t etl_bare_length(const char *name) { return strlen(name); }
bool etl_profiler_is_watched(void) { return false; }
bool etl_profiler_means(uint32_t cbid) { (void)cbid; return false; }
void etl_profiler_call(uint32_t cbid, bool is_return) { (void)cbid; (void)is_return; }
int etl_profiler_enable(void *s, struct etl_error *e) { (void)s; (void)e; return 0; }
bool etl_launch_stacks_are_wanted(void) { return false; }
bool etl_launch_stacks_mean(uint32_t cbid) { (void)cbid; return false; }
void etl_launch_stacks_call(uint32_t cbid, uint32_t id) { (void)cbid; (void)id; }
int etl_launch_stacks_enable(void *s, struct etl_error *e) { (void)s; (void)e; return 0; }
void etl_graph_nodes_enable(void *subscriber) { (void)subscriber; }
bool etl_graph_nodes_mean(uint32_t domain, uint32_t cbid) { (void)domain; (void)cbid; return false; }
void etl_graph_nodes_call(uint32_t cbid, bool is_return) { (void)cbid; (void)is_return; }
void etl_graph_nodes_resource(uint32_t cbid, const void *info) { (void)cbid; (void)info; }
bool etl_range_metrics_are_wanted(void) { return false; }
void etl_range_metrics_enable(void *subscriber) { (void)subscriber; }
bool etl_range_metrics_mean(uint32_t domain, uint32_t cbid) { (void)domain; (void)cbid; return false; }
void etl_range_metrics_call(uint32_t cbid, const struct etl_callback_data *data) { (void)cbid; (void)data; }
void etl_range_metrics_resource(uint32_t cbid, const void *info) { (void)cbid; (void)info; }
bool etl_sass_metrics_are_wanted(void) { return false; }
void etl_sass_metrics_enable(void *subscriber) { (void)subscriber; }
bool etl_sass_metrics_mean(uint32_t domain, uint32_t cbid) { (void)domain; (void)cbid; return false; }
void etl_sass_metrics_call(uint32_t cbid, void *context) { (void)cbid; (void)context; }
void etl_sass_metrics_resource(uint32_t cbid, const void *info) { (void)cbid; (void)info; }
bool etl_is_switched_in_calls(void) { return false; }
void etl_orders_enable(void *subscriber) { (void)subscriber; }
bool etl_orders_are_over(void) { return false; }
void etl_orders_disable(void *subscriber, bool (*is_kept)(uint32_t, uint32_t)) { (void)subscriber; (void)is_kept; }
bool etl_orders_mean(uint32_t cbid) { (void)cbid; return false; }
void etl_orders_call(uint32_t cbid) { (void)cbid; }
bool etl_pc_sampling_is_wanted(void) { return false; }
void etl_pc_sampling_enable(void *subscriber) { (void)subscriber; }
bool etl_pc_sampling_means(uint32_t domain, uint32_t cbid) { (void)domain; (void)cbid; return false; }
void etl_pc_sampling_call(uint32_t cbid, void *context) { (void)cbid; (void)context; }
void etl_pc_sampling_resource(uint32_t cbid, const void *info) { (void)cbid; (void)info; }

/* ---- the program's calls */

struct launch_params { /* cuLaunchKernel_params */
	void *f;
	unsigned grid[3], block[3], shared;
	void *stream, *parameters, *extra;
};

static _Atomic uint32_t correlation;
static _Atomic bool is_over;

static void launch(const char *symbol)
{
	int result = 0;
	uint64_t kept = UINT64_MAX; /* CUPTI does not say that it is 0 */
	uint32_t id = etl_add(&correlation, 1) + 1;
	struct launch_params parameters = { .grid = { id, 2, 3 }, .block = { 32, 1, 1 },
					    .shared = 16, .stream = &correlation };
	struct etl_callback_data data = { .parameters = &parameters, .symbol = symbol,
					  .context_uid = 1, .correlation_data = &kept,
					  .correlation_id = id };

	/* CUPTI looks once for each of the two. */
	for (data.site = 0; data.site < 2; data.site++) {
		data.result = data.site ? &result : NULL;
		if (etl_peek(&is_enabled[LAUNCH]))
			etl_callbacks_call(NULL, CUPTI_DOMAIN_DRIVER, LAUNCH, &data);
	}
}

static void *call(void *name)
{
	while (!etl_load(&is_over))
		launch(name);
	return NULL;
}

/* ---- who hears of them */

struct heard {
	_Atomic uint64_t told;
	_Atomic bool is_ended;
};

static void hear(void *data, const struct etl_callback_event *event, const char *function,
		 const char *text)
{
	struct heard *heard = data;

	CHECK(!etl_load(&heard->is_ended));
	CHECK(event->site == ETL_SITE_ENTER || event->site == ETL_SITE_EXIT);
	CHECK(event->grid[0] == event->correlation_id && event->shared_bytes == 16);
	CHECK(event->site == ETL_SITE_ENTER ? !event->end_ns : event->end_ns >= event->start_ns);
	CHECK(strcmp(function, "cuLaunchKernel") == 0 && strncmp(text, "kernel_", 7) == 0);
	CHECK(cupti_etl_callbacks_is_inside());
	etl_add(&heard->told, 1);
	launch("nested"); /* is not told */
}

static uint64_t count_events(const struct etl_slot_view *slot)
{
	uint64_t events = 0;
	uint32_t head[2];

	CHECK(slot->content == ETL_CALLBACKS);
	for (uint32_t at = 0; at < slot->bytes; at += head[0]) {
		memcpy(head, slot->data + at, sizeof head);
		CHECK(head[0] % 8 == 0 && head[0] >= sizeof head && head[0] <= slot->bytes - at);
		events += head[1] == ETL_CALLBACK_EVENT;
	}
	return events;
}

static void in_slots(int rounds)
{
	struct etl_error error;
	struct etl_callback_counts counts;
	struct etl_slot_view slot;
	uint64_t events = 0;
	int number = cupti_etl_callbacks_start("1:cuLaunchKernel", NULL, NULL, 32, &error);

	CHECK(number > 0);
	for (int i = 0; i < rounds; i++)
		if (cupti_etl_callbacks_next(number, 1, &slot)) {
			events += count_events(&slot);
			cupti_etl_callbacks_release(number, slot.slot);
		}
	cupti_etl_callbacks_stop(number);
	while (cupti_etl_callbacks_next(number, 0, &slot)) {
		events += count_events(&slot);
		cupti_etl_callbacks_release(number, slot.slot);
	}
	cupti_etl_callbacks_count(number, &counts);
	CHECK(counts.events == events + counts.lost);
	cupti_etl_callbacks_close(number);
}

static void *in_line(void *unused)
{
	struct etl_error error;

	(void)unused;
	while (!etl_load(&is_over)) {
		struct heard heard = { 0 };
		int number = cupti_etl_callbacks_start("1:cuLaunchKernel,1:cuMemcpyHtoDAsync_v2", hear,
						       &heard, 0, &error);

		CHECK(number > 0);
		sched_yield();
		cupti_etl_callbacks_close(number);
		/* Whoever is told now would write into memory that is gone. */
		etl_store(&heard.is_ended, true);
	}
	return NULL;
}

static void alone(void)
{
	struct etl_error error;
	int numbers[ETL_WATCHES];

	CHECK(cupti_etl_callbacks_start("1:cuNothing,9:x,", NULL, NULL, 32, &error) < 0);
	CHECK(strstr(error.message, "knows none of the callbacks"));
	for (int i = 1; i < ETL_WATCHES; i++)
		CHECK((numbers[i] = cupti_etl_callbacks_start("1:cuLaunchKernel", hear, NULL, 0,
							      &error)) > 0);
	CHECK(cupti_etl_callbacks_start("1:cuLaunchKernel", hear, NULL, 0, &error) < 0);
	CHECK(strstr(error.message, "16 sets of callbacks are on already"));
	CHECK(etl_peek(&n_subscribers) == 1 && etl_peek(&is_enabled[LAUNCH]));
	for (int i = 1; i < ETL_WATCHES; i++) {
		CHECK(etl_peek(&is_enabled[LAUNCH]));
		cupti_etl_callbacks_close(numbers[i]);
	}
	CHECK(etl_peek(&n_subscribers) == 0 && !etl_peek(&is_enabled[LAUNCH]));
}

int main(void)
{
	pthread_t callers[CALLERS], other;
	char names[CALLERS][32];

	etl_injector.cupti = (struct cupti_api){ .subscribe = subscribe, .unsubscribe = unsubscribe,
						 .enable_callback = enable_callback,
						 .callback_name = callback_name };
	alone();
	for (int i = 0; i < CALLERS; i++) {
		snprintf(names[i], sizeof names[i], "kernel_%d", i);
		CHECK(pthread_create(&callers[i], NULL, call, names[i]) == 0);
	}
	CHECK(pthread_create(&other, NULL, in_line, NULL) == 0);
	for (int round = 0; round < 10; round++)
		in_slots(ROUNDS / 100);
	etl_store(&is_over, true);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	pthread_join(other, NULL);
	CHECK(etl_peek(&n_subscribers) == 0 && !etl_peek(&is_enabled[LAUNCH]));
	return 0;
}

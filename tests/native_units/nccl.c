/* NCCL's profiler plugin, called by many threads as NCCL calls it: what it writes is decoded while
 * they go on, open events are given up meanwhile, others are overwritten, and all that was counted
 * comes out.  Run under the sanitizers. */
#include <string.h>

#include "check.h"
#include "decode/process.h"
#include "etl/rows.h"
#include "inject/buffers.h"
#include "inject/injector.h"
#include "inject/nccl_rows.h"
#include "inject/recording.h"
#include "inject/wakeup.h"

#define THREADS 4
#ifndef ROUNDS
#define ROUNDS 2000
#endif
#ifdef PLANT_UNENDED
#define PLANTED true
#else
#define PLANTED false
#endif

/* The public interface, version 5. */
struct plugin {
	const char *name;
	int (*begin)(void **, uint64_t, int *, const char *, int, int, int, void *);
	int (*start)(void *, void **, const void *);
	int (*stop)(void *);
	int (*state)(void *, int, const void *);
	int (*end)(void *);
};
extern const struct plugin ncclProfiler_v5;
static const struct plugin *const plugin = &ncclProfiler_v5;

struct etl_injector etl_injector;
static _Atomic bool is_on;
static _Atomic int running;

bool etl_injector_is_ours(void)
{
	return etl_load(&etl_injector.active);
}

bool etl_recording_is_on(void)
{
	return etl_load(&is_on);
}

void etl_wakeup_send(void)
{
}

static void put(uint8_t *told, size_t at, const void *what, size_t size)
{
	memcpy(told + at, what, size);
}

static void *started(void *context, uint64_t type, void *parent, void *group)
{
	uint8_t told[256] = { 0 };
	const char *function = "AllReduce";
	void *handle = NULL;

	put(told, 0, &type, sizeof type);
	put(told, 8, &parent, sizeof parent);
	if (type == ETL_NCCL_COLL) {
		put(told, 32, &function, sizeof function);
		put(told, 72, &function, sizeof function);
		put(told, 88, &function, sizeof function);
		put(told, 96, &function, sizeof function);
		put(told, 104, &group, sizeof group);
	}
	plugin->start(context, &handle, told);
	return handle;
}

static void one_turn(void *context)
{
	void *call = started(context, ETL_NCCL_COLL_API, NULL, NULL), *launch, *group, *task, *channel;
	uint64_t timer = 5;

	plugin->stop(call);
	launch = started(context, ETL_NCCL_KERNEL_LAUNCH, NULL, NULL);
	plugin->stop(launch);
	group = started(context, ETL_NCCL_GROUP, NULL, NULL);
	task = started(context, ETL_NCCL_COLL, call, group);
	channel = started(context, ETL_NCCL_KERNEL_CHANNEL, task, NULL);
	plugin->stop(task);
	plugin->stop(group);
	plugin->state(channel, 22, &timer);
	plugin->stop(channel);
	plugin->stop(task); /* a second time, as graphs do */
}

static void *work(void *context)
{
	for (int turn = 0; turn < ROUNDS; turn++)
		one_turn(context);
	etl_add(&running, -1);
	return NULL;
}

static void drain(struct etl_process *process)
{
	struct etl_slot_view view;
	struct etl_error error;

	while (etl_process_next(process, &view)) {
		CHECK(view.content == ETL_NCCL_EVENTS);
		CHECK(etl_process_decode(process, view.data, view.bytes, view.content, &error) == 0);
		etl_process_release(process, view.slot);
	}
}

/* A capture ends: what was counted was stored or lost. */
static struct etl_decoded ended(struct etl_process *process)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	struct etl_decoded decoded;

	etl_nccl_finish();
	etl_nccl_flush();
	drain(process);
	etl_process_get_decoded(process, &decoded);
	CHECK(decoded.nccl_events + etl_peek(&counters->nccl_events_lost) ==
	      etl_peek(&counters->nccl_events));
	CHECK(decoded.unreadable_bytes == 0 && decoded.damaged_nccl_events == 0);
	return decoded;
}

/* Every prefix of a slot's bytes, and none of it as it was: nothing is read that is not there. */
static void hostile(struct etl_decoder *decoder)
{
	static const uint64_t no_loss[ETL_MAX_KIND];
	static const uint32_t strides[ETL_MAX_KIND];
	struct etl_process_info info = { .process_id = 5, .cupti_version = 130500 };
	struct etl_error error;
	struct etl_process *process = etl_process_load(decoder, &info, strides, no_loss, &error);
	uint64_t seed = 7;

	CHECK(process);
	for (uint32_t bytes = 0; bytes < 700; bytes++)
		for (int turn = 0; turn < 4; turn++) {
			uint8_t *data = malloc(bytes + 1);

			for (uint32_t i = 0; i < bytes; i++)
				data[i] = turn % 2 ? (uint8_t)random_next(&seed) :
						     (uint8_t)(random_next(&seed) % 24 == 0);
			CHECK(etl_process_decode(process, data, bytes, ETL_NCCL_EVENTS, &error) == 0);
			free(data);
		}
	etl_process_free(process);
}

/* One thread and nothing overwritten: all is stored, and all has ended. */
static void quiet(struct etl_decoder *decoder, int fd, void *context)
{
	struct etl_error error;
	struct etl_process *process = etl_process_map(decoder, fd, &error);
	struct etl_decoded decoded;

	CHECK(process);
	etl_nccl_forget();
	etl_store(&is_on, true);
	for (int turn = 0; turn < 100; turn++) {
		one_turn(context);
		etl_nccl_flush();
		drain(process);
	}
	decoded = ended(process);
	CHECK(decoded.nccl_events == 200 && decoded.open_nccl_events == 0);
	/* The task of this one is open when the capture ends. */
	if (PLANTED) {
		started(context, ETL_NCCL_COLL, NULL, NULL);
		decoded = ended(process);
		CHECK(decoded.open_nccl_events == 0);
	}
	etl_process_free(process);
	etl_segment_renew(&etl_injector.map);
}

int main(void)
{
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_process *process;
	struct etl_error error;
	pthread_t threads[THREADS];
	void *contexts[THREADS];
	int fd, mask;

	setenv("CUPTI_ETL_NCCL", "channels", 1);
	CHECK(etl_segment_create(2, &etl_injector.map, &fd, &error) == 0);
	etl_store(&etl_injector.active, true);
	etl_store(&is_on, true);
	etl_put(&running, THREADS);
	for (int i = 0; i < THREADS; i++) {
		CHECK(plugin->begin(&contexts[i], 7, &mask, i ? "a name" : NULL, 1, 2, 0, NULL) == 0);
		CHECK(contexts[i] && mask & ETL_NCCL_KERNEL_CHANNEL);
		CHECK(pthread_create(&threads[i], NULL, work, contexts[i]) == 0);
	}
	process = etl_process_map(decoder, fd, &error);
	CHECK(process);
	for (int look = 0; etl_load(&running); look++) {
		etl_nccl_flush();
		drain(process);
		/* A pause, and what is open is given up. */
		etl_store(&is_on, look % 10 != 9);
		if (look % 50 == 0)
			etl_nccl_finish();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ended(process);
	etl_process_free(process);
	etl_segment_renew(&etl_injector.map);
	quiet(decoder, fd, contexts[0]);
	for (int i = 0; i < THREADS; i++)
		CHECK(plugin->end(contexts[i]) == 0);
	hostile(decoder);
	etl_decoder_free(decoder);
	etl_segment_unmap(&etl_injector.map);
	return 0;
}

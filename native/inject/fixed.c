/* CUPTI's predefined records, asked for with its first interface: one client a process,
 * every version. */
#include <errno.h>
#include <string.h>

#include "inject/buffers.h"
#include "inject/callbacks.h"
#include "inject/clock.h"
#include "inject/fixed.h"
#include "inject/injector.h"

#define UNIFIED_MEMORY_COUNTERS 8

/* Counters are asked for one by one: an older CUPTI has fewer of them.  An error if
 * there is none at all. */
int etl_configure_unified_memory(void)
{
	int result = CUPTI_OK;
	bool any = false;

	if (!etl_injector.cupti.configure_unified_memory)
		return CUPTI_OK;
	for (uint32_t counter = 1; counter <= UNIFIED_MEMORY_COUNTERS; counter++) {
		/* Scope and device have had no meaning since CUDA 7.0. */
		struct cupti_unified_memory config = { 1, counter, 0, 1 };
		int one = etl_injector.cupti.configure_unified_memory(&config, 1);

		any |= one == CUPTI_OK;
		if (one != CUPTI_OK && result == CUPTI_OK)
			result = one;
	}
	return any ? CUPTI_OK : result;
}

/* What some kinds need before they are enabled.  Where a switch is missing or refused,
 * the records have less in them; an error is one without which there are none. */
static int prepare(uint32_t kind)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int (*enable)(uint8_t) = NULL;
	uint8_t value = 1;

	switch (kind) {
	case ETL_ACTIVITY_UNIFIED_MEMORY_COUNTER:
		return etl_configure_unified_memory();
	case ETL_ACTIVITY_CUDA_EVENT:
		enable = cupti->enable_event_timestamps;
		break;
	case ETL_ACTIVITY_SYNCHRONIZATION:
		/* A query that found the work unfinished waited for nothing, and programs
		 * that poll make them by the million. */
		enable = cupti->enable_all_sync_records;
		value = 0;
		break;
	case ETL_ACTIVITY_MEMORY2:
		enable = cupti->enable_allocation_source;
		break;
	default:
		break;
	}
	if (enable)
		(void)enable(value);
	return CUPTI_OK;
}

/* The record size of a kind, found by letting CUPTI walk two empty records; 0 if it
 * refuses. */
static uint32_t measure_stride(uint32_t activity)
{
	static _Alignas(8) uint8_t probe[4096];
	uint8_t *first = NULL, *second;

	/* The kind stands wherever a second record could begin. */
	for (size_t i = 0; i < sizeof probe; i += 8) {
		memcpy(probe + i, &activity, sizeof activity);
		memset(probe + i + 4, 0, 4);
	}
	if (etl_injector.cupti.next_record(probe, sizeof probe, &first) != CUPTI_OK)
		return 0;
	second = first;
	if (etl_injector.cupti.next_record(probe, sizeof probe, &second) != CUPTI_OK)
		return 0;
	return (uint32_t)(second - first);
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	etl_buffer_completed(buffer, size, valid);
}

static int next(uint8_t *buffer, size_t valid, uint8_t **record)
{
	return etl_injector.cupti.next_record(buffer, valid, record);
}

static size_t dropped(void)
{
	size_t records = 0;

	/* Buffers have been global, and not of a stream, since CUDA 6.0. */
	return etl_injector.cupti.dropped_records(NULL, 0, &records) == CUPTI_OK ? records : 0;
}

static int start(const struct etl_plan *plan, struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	uint8_t one = 1;
	size_t size = sizeof one;
	int result;

	(void)plan;

	/* Slots are zero when CUPTI gets them, so it need not clear a megabyte on the
	 * thread that launches. */
	if (cupti->set_attribute)
		cupti->set_attribute(CUPTI_ATTR_ZEROED_OUT_BUFFER, &size, &one);
	if (cupti->set_thread_id_type)
		cupti->set_thread_id_type(CUPTI_THREAD_ID_SYSTEM);
	etl_clock_set();
	result = cupti->register_callbacks(etl_buffer_requested, completed);
	if (result != CUPTI_OK)
		return etl_fail(error, EIO, "cuptiActivityRegisterCallbacks: %s (%d)",
				cupti_result(cupti, result), result);
	for (uint32_t activity = 1; activity < ETL_MAX_KIND; activity++)
		if (etl_table_of(activity) >= 0)
			etl_set_stride(activity, measure_stride(activity));
	return etl_callbacks_subscribe(error);
}

static int switch_kind(const struct etl_planned *planned, bool on)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int result;

	/* CUPTI makes these with GRAPH_TRACE when they are switched on, and refuses to be
	 * asked for them. */
	if (planned->activity == ETL_ACTIVITY_DEVICE_GRAPH_TRACE)
		return cupti->enable_device_graph ? cupti->enable_device_graph(on) : CUPTI_OK;
	if (!on)
		return cupti->disable(planned->activity);
	result = prepare(planned->activity);
	return result == CUPTI_OK ? cupti->enable(planned->activity) : result;
}

static int switch_api(const struct etl_api_plan *plan, bool on)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int (*one)(uint32_t, uint8_t) = plan->kind == ETL_ACTIVITY_RUNTIME ? cupti->enable_runtime_api :
								     cupti->enable_driver_api;
	int result;

	/* A function that this driver does not have is refused, and is no loss. */
	if (one && plan->has_single && plan->n_wanted < plan->n_unwanted) {
		for (uint32_t i = 0; i < plan->n_wanted; i++)
			one(plan->wanted[i], on);
		return CUPTI_OK;
	}
	/* Which switches all of its functions.  Then each call of the driver costs 0.1 us, whether
	 * it is recorded or not (H200, CUPTI 13.0 and 13.5). */
	result = on ? cupti->enable(plan->kind) : cupti->disable(plan->kind);
	if (result != CUPTI_OK || !on || !one)
		return result;
	for (uint32_t i = 0; i < plan->n_unwanted; i++)
		one(plan->unwanted[i], false);
	return CUPTI_OK;
}

const struct etl_records etl_fixed_records = { false, start,   switch_kind, switch_api,
						next,  dropped, NULL };

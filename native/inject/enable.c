#include <errno.h>
#include <string.h>
#include <stdlib.h>

#include "etl/strings.h"
#include "inject/inject.h"
#include "../generated/env.h"

enum {
	KIND_DRIVER = 4,
	KIND_RUNTIME = 5,
	KIND_KERNEL = 10,
	KIND_UNIFIED_MEMORY = 25,
	KIND_CUDA_EVENT = 36,
	KIND_SYNCHRONIZATION = 38,
	KIND_MEMORY = 49,
	KIND_DEVICE_GRAPH = 53,
	UNIFIED_MEMORY_COUNTERS = 8,
};

static bool matches(const char *const *patterns, const char *name)
{
	for (; *patterns; patterns++) {
		size_t length = strlen(*patterns);

		if ((*patterns)[length - 1] == '*' ? strncmp(name, *patterns, length - 1) == 0 :
						     strcmp(name, *patterns) == 0)
			return true;
	}
	return false;
}

/* Whether the level asks for the records of this function. */
static bool is_wanted(const char *level, uint32_t kind, const char *name)
{
	if (strcmp(level, "all") == 0)
		return true;
	if (strcmp(level, "launch") == 0 || kind == KIND_DRIVER)
		return matches(etl_api_launch, name);
	return !matches(etl_api_noise, name);
}

/* CUPTI names a runtime function with the CUDA version of its signature, as in
 * cudaLaunchKernel_v7000.  That suffix (four digits or more) is not part of the name;
 * cuMemcpyHtoD_v2 keeps its own. */
static size_t bare_length(const char *name)
{
	size_t length = strlen(name), digits = 0;

	while (digits < length && name[length - 1 - digits] >= '0' &&
	       name[length - 1 - digits] <= '9')
		digits++;
	if (digits >= 4 && length > digits + 2 && name[length - digits - 1] == 'v' &&
	    name[length - digits - 2] == '_')
		return length - digits - 2;
	return length;
}

/* Publishes the names of one API's functions and asks for the wanted ones. */
static int enable_api(uint32_t kind, uint32_t domain, const char *level,
		      int (*enable_one)(uint32_t, uint8_t))
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	char bare[256];
	int result;
	/* Switching the kind on and single functions off, or the other way round:
	 * whichever names fewer functions. */
	bool all = !enable_one || strcmp(level, "all") == 0 ||
		   (kind == KIND_RUNTIME && strcmp(level, "default") == 0);

	if (all) {
		result = cupti->enable(kind);
		if (result != CUPTI_OK)
			return result;
	}
	if (!cupti->callback_name)
		return CUPTI_OK;
	for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++) {
		const char *name = NULL;
		size_t length;
		bool wanted;

		if (cupti->callback_name(domain, cbid, &name) != CUPTI_OK || !name) {
			if (cbid > 2048)
				break;
			continue;
		}
		length = bare_length(name);
		if (length >= sizeof bare)
			continue;
		memcpy(bare, name, length);
		bare[length] = '\0';
		wanted = is_wanted(level, kind, bare);
		if (enable_one && wanted != all)
			enable_one(cbid, wanted);
		pthread_mutex_lock(&etl_injector.publish);
		/* Where single functions cannot be switched, the decoder filters. */
		etl_intern(bare, length, etl_api_tag(kind, cbid), wanted ? 0 : ETL_API_DROP);
		pthread_mutex_unlock(&etl_injector.publish);
	}
	pthread_mutex_lock(&etl_injector.publish);
	etl_intern_flush();
	pthread_mutex_unlock(&etl_injector.publish);
	return CUPTI_OK;
}

static void noop_callback(void *data, uint32_t domain, uint32_t cbid, const void *info)
{
	(void)data;
	(void)domain;
	(void)cbid;
	(void)info;
}

/* CUPTI before 13.3 serves one client a process.  Asking for the subscription, and
 * giving it back at once, tells whether another has it. */
static bool is_taken(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	void (*callback)(void *, uint32_t, uint32_t, const void *) = noop_callback;
	void *address, *subscriber = NULL;
	int result;

	if (!cupti->subscribe || !cupti->unsubscribe)
		return false;
	memcpy(&address, &callback, sizeof address);
	result = cupti->subscribe(&subscriber, address, NULL);
	if (result == CUPTI_OK)
		cupti->unsubscribe(subscriber);
	return result == CUPTI_MULTIPLE_SUBSCRIBERS;
}

static int refuse(struct etl_error *error, const char *what, int result)
{
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS)
		return etl_fail(error, EBUSY,
				"another CUPTI client (a profiler) is active in this process");
	return etl_fail(error, EIO, "%s: %s (%d)", what, cupti_result(&etl_injector.cupti, result),
			result);
}

/* Counters are asked for one by one: an older CUPTI has fewer of them.  An error if
 * there is none at all. */
static int configure_unified_memory(void)
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
	case KIND_UNIFIED_MEMORY:
		return configure_unified_memory();
	case KIND_CUDA_EVENT:
		enable = cupti->enable_event_timestamps;
		break;
	case KIND_SYNCHRONIZATION:
		/* A query that found the work unfinished waited for nothing, and programs
		 * that poll make them by the million. */
		enable = cupti->enable_all_sync_records;
		value = 0;
		break;
	case KIND_MEMORY:
		enable = cupti->enable_allocation_source;
		break;
	default:
		break;
	}
	if (enable)
		(void)enable(value);
	return CUPTI_OK;
}

/* Whether the table's records are asked for. */
static bool is_asked_for(const struct etl_kind *kind, const char *kinds, bool graphs)
{
	/* They would silence the kernels and copies of graphs. */
	if (kind->preset == ETL_PRESET_GRAPH && !graphs)
		return false;
	if (kinds)
		return etl_list_has(kinds, kind->table);
	return kind->preset <= ETL_PRESET_DEFAULT || kind->preset == ETL_PRESET_GRAPH;
}

/* Adds to what the collector reports of this process. */
static void note(const char *table, int result)
{
	char *detail = etl_injector.map.segment->detail;
	size_t used = strlen(detail), size = sizeof etl_injector.map.segment->detail;

	snprintf(detail + used, size - used, "%s%s: %s (%d)",
		 used ? "; " : "records that cannot be enabled: ", table,
		 cupti_result(&etl_injector.cupti, result), result);
}

static int enable_kind(uint32_t kind, const char *level)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	/* CUPTI makes these with GRAPH_TRACE when they are switched on, and refuses to be
	 * asked for them. */
	if (kind == KIND_DEVICE_GRAPH)
		return cupti->enable_device_graph ? cupti->enable_device_graph(1) : CUPTI_OK;
	if (kind != KIND_RUNTIME && kind != KIND_DRIVER) {
		int result = prepare(kind);

		return result == CUPTI_OK ? cupti->enable(kind) : result;
	}
	if (strcmp(level, "none") == 0)
		return CUPTI_OK;
	if (kind == KIND_RUNTIME)
		return enable_api(kind, CUPTI_DOMAIN_RUNTIME, level, cupti->enable_runtime_api);
	return enable_api(kind, CUPTI_DOMAIN_DRIVER, level, cupti->enable_driver_api);
}

int etl_enable(struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	const char *kinds = etl_env(ETL_ENV_KINDS), *level = etl_env(ETL_ENV_API);
	const char *graph = etl_env(ETL_ENV_GRAPH);
	bool graphs = graph && strcmp(graph, "graph") == 0;
	int result;

	if (!level)
		level = "default";
	if (is_taken())
		return refuse(error, "cuptiSubscribe", CUPTI_MULTIPLE_SUBSCRIBERS);
	if (cupti->set_attribute) {
		/* Slots are zero when CUPTI gets them, so it need not clear a megabyte on
		 * the thread that launches. */
		uint8_t one = 1;
		size_t size = sizeof one;

		cupti->set_attribute(CUPTI_ATTR_ZEROED_OUT_BUFFER, &size, &one);
	}
	if (cupti->set_thread_id_type)
		cupti->set_thread_id_type(CUPTI_THREAD_ID_SYSTEM);
	result = cupti->register_callbacks(etl_buffer_requested, etl_buffer_completed);
	if (result != CUPTI_OK)
		return refuse(error, "cuptiActivityRegisterCallbacks", result);
	for (int table = 0; table < ETL_N_KINDS; table++)
		for (int i = 0; i < ETL_MAX_ACTIVITIES; i++) {
			uint32_t kind = etl_kinds[table].activities[i];

			if (kind)
				etl_set_stride(kind, etl_measure_stride(kind));
		}
	for (int table = 0; table < ETL_N_KINDS; table++) {
		if (!is_asked_for(&etl_kinds[table], kinds, graphs))
			continue;
		for (int i = 0; i < ETL_MAX_ACTIVITIES; i++) {
			uint32_t kind = etl_kinds[table].activities[i];

			result = kind ? enable_kind(kind, level) : CUPTI_OK;
			if (result != CUPTI_OK && kind == KIND_KERNEL)
				return refuse(error, "kernel records cannot be enabled", result);
			/* A kind that this device or version does not have: the rest goes on. */
			if (result != CUPTI_OK)
				note(etl_kinds[table].table, result);
		}
	}
	etl_canary_enable(strcmp(level, "all") == 0 && (!kinds || etl_list_has(kinds, "api_call")));
	return 0;
}

void etl_disable(void)
{
	for (int table = 0; table < ETL_N_KINDS; table++)
		for (int i = 0; i < ETL_MAX_ACTIVITIES; i++)
			if (etl_kinds[table].activities[i])
				etl_injector.cupti.disable(etl_kinds[table].activities[i]);
}

/* User-defined records, which hold only our columns: CUPTI's second interface, with a
 * subscription of our own.  Structs as documented in the reference of CUPTI 13.4 ("CUPTI
 * Activity API", CUpti_ActivityConfig and what it holds). */
#include <errno.h>
#include <string.h>

#include "inject/buffers.h"
#include "inject/callbacks.h"
#include "inject/fixed.h"
#include "inject/injector.h"
#include "inject/selected.h"

/* First version in which the calls to record can still be chosen. */
#define SINCE 130400

enum {
	ATTR_USER_DEFINED_RECORDS = 11,
	ATTR_ALLOCATION_SOURCE = 14,
	ATTR_ALL_SYNC_RECORDS = 16,
	ATTR_EVENT_TIMESTAMPS = 17,
	ATTR_WHOLE_GRAPHS = 20, /* with several clients; one decides for all */
	ATTR_THREAD_ID_TYPE = 21,
};

struct config {
	size_t size;
	struct {
		size_t size, n;
		int *ids;
	} fields;
	void *options;
};

struct cbid_options {
	size_t size;
	uint32_t *cbids;
	size_t n;
	uint8_t only_these, padding[7];
};

struct api_options {
	size_t size;
	struct cbid_options *cbids;
};

struct layout_entry {
	size_t struct_size;
	int id;
	size_t offset, size, alignment;
};

struct record_layout {
	size_t struct_size;
	const struct layout_entry *entries;
	size_t n, record_size;
};

struct complete_info {
	size_t size;
	uint64_t thread_id;
	struct record_layout **layouts; /* by activity kind */
	size_t n_layouts;
};

static void *subscriber;
/* Of each kind, so that an unchanged layout costs one comparison. */
static const struct record_layout *seen[ETL_MAX_KIND];

const char *etl_selected_obstacle(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	if (cupti->version < SINCE)
		return "they need CUPTI 13.4 or later";
	if (!cupti->subscribe_v2 || !cupti->enable_v2 || !cupti->disable_v2 ||
	    !cupti->register_callbacks_v2 || !cupti->set_attribute_v2 ||
	    !cupti->next_record_v2 || !cupti->dropped_records_v2)
		return "this libcupti lacks the functions";
	return NULL;
}

static void requested(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
	(void)info;
	etl_buffer_requested(buffer, size, max_records);
}

/* The layouts come with each buffer, but are the same ones as long as the fields are. */
static void note_layouts(const struct complete_info *info)
{
	for (uint32_t kind = 1; kind < info->n_layouts && kind < ETL_MAX_KIND; kind++) {
		const struct record_layout *layout = info->layouts[kind];
		struct etl_field fields[ETL_MAX_COLUMNS];
		size_t n = 0;

		if (!layout || !layout->entries || !layout->n || seen[kind] == layout)
			continue;
		for (; n < layout->n && n < ETL_MAX_COLUMNS; n++)
			fields[n] = (struct etl_field){ layout->entries[n].id,
							(uint32_t)layout->entries[n].offset,
							(uint32_t)layout->entries[n].size };
		pthread_mutex_lock(&etl_injector.publish);
		etl_set_fields(kind, (uint32_t)layout->record_size, fields, n);
		pthread_mutex_unlock(&etl_injector.publish);
		seen[kind] = layout;
	}
}

static void completed(uint8_t *buffer, size_t size, size_t valid, const struct complete_info *info)
{
	if (info && info->layouts && etl_injector_is_ours())
		note_layouts(info);
	etl_buffer_completed(buffer, size, valid);
}

static int set(uint32_t attribute, uint8_t value)
{
	size_t size = sizeof value;

	return etl_injector.cupti.set_attribute_v2(subscriber, attribute, &size, &value);
}

static int start(const struct etl_plan *plan, struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	char other[64] = "";
	struct cupti_subscriber_params params = { .size = sizeof params,
						  .name = "cupti-etl",
						  .old_name = other,
						  .old_name_size = sizeof other };
	void (*callback)(void *, uint32_t, uint32_t, const void *) = etl_callbacks_call;
	void (*request)(uint8_t **, size_t *, size_t *, void *) = requested;
	void (*complete)(uint8_t *, size_t, size_t, const struct complete_info *) = completed;
	void *addresses[3];
	uint32_t thread_id_type = CUPTI_THREAD_ID_SYSTEM;
	size_t size = sizeof thread_id_type;
	int result;

	memcpy(&addresses[0], &callback, sizeof callback);
	memcpy(&addresses[1], &request, sizeof request);
	memcpy(&addresses[2], &complete, sizeof complete);
	/* Others may come too, where CUPTI and the driver can serve several; where they cannot,
	 * the wish itself is refused. */
	for (params.allow_multiple = 1;; params.allow_multiple = 0) {
		result = cupti->subscribe_v2(&subscriber, addresses[0], NULL, &params);
		if (result == CUPTI_OK || !params.allow_multiple)
			break;
	}
	if (result == CUPTI_MULTIPLE_SUBSCRIBERS)
		return etl_fail(error, EBUSY, "another CUPTI client (%s) is active in this process",
				*other ? other : "a profiler");
	if (result == CUPTI_OK)
		result = set(ATTR_USER_DEFINED_RECORDS, 1);
	if (result == CUPTI_OK)
		result = cupti->register_callbacks_v2(subscriber, addresses[1], addresses[2]);
	if (result != CUPTI_OK)
		return etl_fail(error, EIO, "selected records cannot be had: %s (%d)",
				cupti_result(cupti, result), result);
	/* What is missing in a version makes the records poorer, as in fixed.c. */
	set(CUPTI_ATTR_ZEROED_OUT_BUFFER, 1);
	set(ATTR_ALLOCATION_SOURCE, 1);
	set(ATTR_ALL_SYNC_RECORDS, 0);
	set(ATTR_EVENT_TIMESTAMPS, 1);
	set(ATTR_WHOLE_GRAPHS, etl_plan_has(plan, ETL_ACTIVITY_GRAPH_TRACE));
	cupti->set_attribute_v2(subscriber, ATTR_THREAD_ID_TYPE, &size, &thread_id_type);
	etl_injector.map.segment->is_selected = 1;
	return etl_callbacks_enable(subscriber, error);
}

/* The fields of a table's columns, each once, the kind first. */
static size_t choose(int table, int *ids)
{
	const struct etl_kind *kind = &etl_kinds[table];
	size_t n = 0;

	ids[n++] = kind->first_field;
	for (uint32_t i = 0; i < 2 * kind->n_columns; i++) {
		const struct etl_column *column = &kind->columns[i / 2];
		int id = i % 2 ? column->only_field : column->field;
		bool is_new = id >= 0 && column->since <= etl_injector.cupti.version;

		for (size_t j = 0; j < n; j++)
			is_new &= ids[j] != id;
		if (is_new)
			ids[n++] = id;
	}
	return n;
}

static int enable(uint32_t activity, int table, void *options)
{
	int ids[2 * ETL_MAX_COLUMNS + 1];
	struct config config = { .size = sizeof config, .options = options };

	config.fields.size = sizeof config.fields;
	config.fields.n = choose(table, ids);
	config.fields.ids = ids;
	return etl_injector.cupti.enable_v2(subscriber, activity, &config);
}

static int switch_kind(const struct etl_planned *planned, bool on)
{
	if (!on)
		return etl_injector.cupti.disable_v2(subscriber, planned->activity, NULL);
	if (etl_kinds[planned->table].first_field < 0)
		return CUPTI_NOT_SUPPORTED;
	if (planned->activity == ETL_ACTIVITY_UNIFIED_MEMORY_COUNTER) {
		int result = etl_configure_unified_memory();

		if (result != CUPTI_OK)
			return result;
	}
	return enable(planned->activity, planned->table, NULL);
}

static int switch_api(const struct etl_api_plan *plan, bool on)
{
	/* CUPTI does not say that it leaves the list alone. */
	static uint32_t cbids[ETL_MAX_CBID];
	bool only_these = plan->n_wanted < plan->n_unwanted;
	struct cbid_options list = { .size = offsetof(struct cbid_options, padding),
				     .cbids = cbids,
				     .n = only_these ? plan->n_wanted : plan->n_unwanted,
				     .only_these = only_these };
	struct api_options options = { sizeof options, &list };
	int result;

	if (!on)
		return etl_injector.cupti.disable_v2(subscriber, plan->kind, NULL);
	memcpy(cbids, only_these ? plan->wanted : plan->unwanted, list.n * sizeof *cbids);
	if (plan->n_unwanted == 0)
		return enable(plan->kind, etl_table_of(plan->kind), NULL);
	/* CUPTI knows functions that the driver does not have yet, and refuses a list with one
	 * in it; they are the last ones. */
	do
		result = enable(plan->kind, etl_table_of(plan->kind), &options);
	while (result == CUPTI_INVALID_PARAMETER && --list.n > 0);
	return result;
}

static int next(uint8_t *buffer, size_t valid, uint8_t **record)
{
	return etl_injector.cupti.next_record_v2(subscriber, buffer, valid, record);
}

static size_t dropped(void)
{
	size_t records = 0;

	return etl_injector.cupti.dropped_records_v2(subscriber, NULL, 0, &records) == CUPTI_OK ?
		       records :
		       0;
}

static void stop(void)
{
	etl_callbacks_unsubscribe(&subscriber);
	memset(seen, 0, sizeof seen);
}

const struct etl_records etl_selected_records = { true, start,   switch_kind, switch_api,
						   next, dropped, stop };

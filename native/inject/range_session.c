#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "etl/clock.h"
#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/range_params.h"
#include "inject/range_session.h"

#define PARAMS(type, last, ...) { .struct_size = PM_SIZE(type, last), __VA_ARGS__ }
/* One is ours.  A second is of a thread that launched meanwhile: then none can be told from the
 * other. */
#define MOST_RANGES 2
#define MOST_IMAGE_BYTES ((size_t)256 << 20)

struct etl_range_asked etl_range_asked;

static _Atomic uint64_t last_id;
static _Atomic uint64_t enabled; /* contexts */

static int64_t have_image(struct etl_range_session *session, struct etl_range_group *group)
{
	struct range_counter_data_size ask = PARAMS(range_counter_data_size, size,
		.object = session->object, .metrics = group->config.names,
		.count = group->config.count, .max_ranges = MOST_RANGES, .max_nodes = MOST_RANGES);
	int result = etl_injector.cupti.range_counter_data_size(&ask);

	if (result != CUPTI_OK)
		return result;
	if (ask.size == 0 || ask.size > MOST_IMAGE_BYTES)
		return -EOVERFLOW;
	group->image_bytes = ask.size;
	group->image = etl_new_memory(ask.size);
	return group->image ? 0 : -ENOMEM;
}

static void disable(struct etl_range_session *session)
{
	struct range_object ask = PARAMS(range_object, object, .object = session->object);

	(void)etl_injector.cupti.range_disable(&ask);
	session->object = NULL;
	etl_add(&enabled, UINT64_MAX);
}

static void free_groups(struct etl_range_session *session)
{
	for (uint32_t i = 0; i < session->n_groups; i++) {
		struct etl_range_group *group = session->groups[i];

		etl_range_config_free(&group->config);
		etl_free_memory(group->image, group->image_bytes);
		etl_free_memory(group, sizeof *group);
	}
	session->n_groups = 0;
}

/* With no context, CUPTI is not asked what can be counted just now. */
static int64_t add_group(struct etl_range_session *session, void *context, uint32_t device,
			 const char *list)
{
	struct etl_range_group *group;
	int64_t code;

	if (session->n_groups == ETL_MOST_RANGE_GROUPS)
		return -E2BIG;
	group = etl_new_memory(sizeof *group);
	if (!group)
		return -ENOMEM;
	code = etl_range_config_make(&group->config, context, device, list);
	if (code != 0) {
		etl_free_memory(group, sizeof *group);
		return code;
	}
	session->groups[session->n_groups++] = group;
	return 0;
}

static int64_t add_names(struct etl_range_session *session, void *context, uint32_t device,
			 const char *const *names, uint32_t n)
{
	char list[sizeof etl_range_asked.metrics];
	size_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? "," : "", names[i]);
	return add_group(session, context, device, list);
}

/* Makes groups of what is in the first, each of which one execution can count. */
static int64_t split(struct etl_range_session *session, void *context, uint32_t device)
{
	struct etl_range_group *whole = session->groups[0];
	const struct etl_range_config *config = &whole->config;
	uint32_t first = 0, passes = 1;
	int64_t code = 0;

	session->n_groups = 0;
	for (uint32_t i = 0; code == 0 && i < config->count; i++) {
		code = etl_range_config_passes(context, device, config->names + first, i + 1 - first,
					       &passes);
		if (code == 0 && passes > 1 && i == first)
			code = -ERANGE;
		if (code != 0 || passes <= 1)
			continue;
		code = add_names(session, context, device, config->names + first, i - first);
		first = i--; /* once more, as the first of the next */
	}
	if (code == 0)
		code = add_names(session, context, device, config->names + first,
				 config->count - first);
	etl_range_config_free(&whole->config);
	etl_free_memory(whole, sizeof *whole);
	return code;
}

void etl_range_sessions_forget(void)
{
	etl_put(&enabled, 0);
}

int64_t etl_range_session_begin(struct etl_range_session *session, void *context)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct range_enable enable = PARAMS(range_enable, object, .context = context);
	uint32_t device = 0;
	int64_t code;

	session->is_running = false;
	if (!cupti->get_context_id || cupti->get_context_id(context, &session->context_id) != CUPTI_OK)
		session->context_id = 0;
	session->device_id = -1;
	if (cupti->get_device_id && cupti->get_device_id(context, &device) == CUPTI_OK)
		session->device_id = (int32_t)device;
	session->n_groups = session->turn = 0;
	context = etl_peek(&enabled) ? NULL : context;
	code = add_group(session, context, device, etl_range_asked.metrics);
	if (code == 0 && etl_range_asked.is_by_range && session->groups[0]->config.passes > 1)
		code = split(session, context, device);
	if (code == 0 && cupti->version >= RANGE_API_CACHE_CONTROL) {
		enable.struct_size = PM_SIZE(range_enable, cache_control);
		enable.cache_control = etl_range_asked.cache_control;
	}
	if (code == 0)
		code = cupti->range_enable(&enable);
	if (code == 0) {
		etl_add(&enabled, 1);
		session->object = enable.object;
		for (uint32_t i = 0; code == 0 && i < session->n_groups; i++)
			code = have_image(session, session->groups[i]);
		if (code != 0)
			disable(session);
	}
	if (code != 0)
		free_groups(session);
	return code;
}

static struct etl_range_group *group_of(const struct etl_range_session *session)
{
	return session->groups[session->turn % session->n_groups];
}

int64_t etl_range_session_start(struct etl_range_session *session, const char *name)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	const struct etl_range_group *group = group_of(session);
	struct range_counter_data_initialize clear = PARAMS(range_counter_data_initialize, image,
		.object = session->object, .size = group->image_bytes, .image = group->image);
	struct range_set_config set = PARAMS(range_set_config, target_level,
		.object = session->object, .config_size = group->config.image_bytes,
		.config = group->config.image, .size = group->image_bytes,
		.image = group->image, .range = name ? RANGE_USER : RANGE_AUTO,
		.replay = name ? RANGE_USER_REPLAY : RANGE_KERNEL_REPLAY,
		.max_ranges = MOST_RANGES, .levels = 1, .min_level = 1, .target_level = 1);
	struct range_object start = PARAMS(range_object, object, .object = session->object);
	struct range_push push = PARAMS(range_push, name, .object = session->object, .name = name);
	int result = cupti->range_counter_data_initialize(&clear);

	if (result == CUPTI_OK)
		result = cupti->range_set_config(&set);
	session->start_ns = etl_now_ns();
	if (result == CUPTI_OK)
		result = cupti->range_start(&start);
	session->is_running = result == CUPTI_OK;
	if (session->is_running && name)
		result = cupti->range_push(&push);
	return result;
}

/* Ranges in the counter data, and those that found no place in it. */
static int64_t decode(struct etl_range_session *session, size_t *ranges, size_t *dropped)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	const struct etl_range_group *group = group_of(session);
	struct range_object pop = PARAMS(range_object, object, .object = session->object);
	struct range_stop stop = PARAMS(range_stop, is_all_submitted, .object = session->object);
	struct range_decode ask = PARAMS(range_decode, dropped, .object = session->object);
	struct range_counter_data_info info = PARAMS(range_counter_data_info, ranges,
		.image = group->image, .size = group->image_bytes);
	int result = CUPTI_OK, stopped;

	if (etl_range_asked.is_by_range)
		result = cupti->range_pop(&pop);
	stopped = cupti->range_stop(&stop);
	session->is_running = false;
	if (result == CUPTI_OK)
		result = stopped;
	if (result == CUPTI_OK)
		result = cupti->range_decode(&ask);
	if (result == CUPTI_OK)
		result = cupti->range_counter_data_info(&info);
	*ranges = info.ranges;
	*dropped = ask.dropped;
	return result;
}

int64_t etl_range_session_stop(struct etl_range_session *session, uint32_t correlation_id,
			       const char *name, bool is_launched)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	double values[ETL_MOST_RANGE_METRICS] = { 0 };
	int32_t results[ETL_MOST_RANGE_METRICS];
	size_t ranges = 0, dropped = 0;
	int64_t code = decode(session, &ranges, &dropped);
	const struct etl_range_group *group = group_of(session);
	struct etl_range_measured measured = { .values = group->config.all,
					       .start_ns = session->start_ns,
					       .end_ns = etl_now_ns(),
					       .context_id = session->context_id,
					       .device_id = session->device_id,
					       .correlation_id = correlation_id,
					       .passes = group->config.passes,
					       .is_range = etl_range_asked.is_by_range };

	if (!is_launched)
		return code;
	etl_add(&counters->range_launches, 1);
	etl_add(&counters->range_ns, (uint64_t)(measured.end_ns - measured.start_ns));
	if (code != 0 || ranges != 1 || dropped != 0) {
		etl_add(&counters->range_dropped, 1);
		return code;
	}
	if (etl_injector.cupti.version >= RANGE_API_CACHE_CONTROL)
		measured.cache_control = etl_range_asked.cache_control == RANGE_CACHE_NONE ? 1 : 2;
	measured.range_id = etl_add(&last_id, 1) + 1;
	etl_range_config_evaluate(&group->config, group->image, group->image_bytes, values, results);
	etl_range_rows_add(measured, name, group->config.metrics, values, results);
	session->turn++;
	return 0;
}

void etl_range_session_end(struct etl_range_session *session)
{
	struct range_stop stop = PARAMS(range_stop, is_all_submitted, .object = session->object);

	if (session->is_running)
		(void)etl_injector.cupti.range_stop(&stop);
	session->is_running = false;
	disable(session);
	free_groups(session);
}

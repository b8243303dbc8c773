#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "etl/clock.h"
#include "etl/hash.h"
#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/range_params.h"
#include "inject/range_session.h"

/* One is ours.  A second is of a thread that launched meanwhile: then none can be told from the
 * other. */
#define MOST_RANGES 2
#define MOST_IMAGE_BYTES ((size_t)256 << 20)

struct etl_range_asked etl_range_asked;

static _Atomic uint64_t last_id;
static _Atomic uint64_t enabled; /* contexts */

static int64_t have_image(struct etl_range_session *session)
{
	struct range_counter_data_size ask = PM_PARAMS(range_counter_data_size, size,
		.object = session->object, .metrics = session->config.names,
		.count = session->config.count, .max_ranges = MOST_RANGES, .max_nodes = MOST_RANGES);
	int result = etl_injector.cupti.range_counter_data_size(&ask);

	if (result != CUPTI_OK)
		return result;
	if (ask.size == 0 || ask.size > MOST_IMAGE_BYTES)
		return -EOVERFLOW;
	session->image_bytes = ask.size;
	session->image = etl_new_memory(ask.size);
	return session->image ? 0 : -ENOMEM;
}

static void disable(struct etl_range_session *session)
{
	struct pm_object ask = PM_PARAMS(pm_object, object, .object = session->object);

	(void)etl_injector.cupti.range_disable(&ask);
	session->object = NULL;
	etl_add(&enabled, UINT64_MAX);
}

/* Enables it for what its configuration counts, and frees that if it cannot. */
static int64_t enable(struct etl_range_session *session)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct range_enable ask = PM_PARAMS(range_enable, object, .context = session->context);
	int64_t code;

	if (cupti->version >= RANGE_API_CACHE_CONTROL) {
		ask.struct_size = PM_SIZE(range_enable, cache_control);
		ask.cache_control = etl_range_asked.cache_control;
	}
	/* Before it is: whom CUPTI refuses meanwhile, looks here for the reason. */
	etl_add(&enabled, 1);
	code = cupti->range_enable(&ask);
	if (code == 0) {
		session->object = ask.object;
		code = have_image(session);
		if (code != 0)
			disable(session);
	} else {
		etl_add(&enabled, UINT64_MAX);
	}
	if (code != 0)
		etl_range_config_free(&session->config);
	return code;
}

static void close_session(struct etl_range_session *session)
{
	disable(session);
	etl_range_config_free(&session->config);
	etl_free_memory(session->image, session->image_bytes);
	session->image = NULL;
}

static void free_lists(struct etl_range_session *session)
{
	while (session->n_lists > 0)
		etl_free_memory(session->lists[--session->n_lists], sizeof etl_range_asked.metrics);
}

static int64_t add_list(struct etl_range_session *session, const char *const *names, uint32_t n)
{
	const size_t most = sizeof etl_range_asked.metrics;
	char *list;
	size_t at = 0;

	if (session->n_lists == ETL_MOST_RANGE_GROUPS)
		return -EMLINK;
	list = etl_new_memory(most);
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && at < most; i++)
		at += (size_t)snprintf(list + at, most - at, "%s%s", i ? "," : "", names[i]);
	session->lists[session->n_lists++] = list;
	return at < most ? 0 : -E2BIG;
}

static void lack(struct etl_range_session *session, uint32_t number, int32_t reason)
{
	session->lacking[session->n_lacking] = session->config.metrics[number];
	session->lacking[session->n_lacking++].result = reason;
}

/* Lists of what the configuration counts, each of which one execution can count.  CUPTI is asked for
 * the device if not for the context, as in configure(). */
static int64_t split_for(struct etl_range_session *session, void *context, uint32_t device)
{
	const struct etl_range_config *config = &session->config;
	const char *names[ETL_MOST_RANGE_METRICS];
	uint32_t n = 0, first = 0, passes = 1;
	int64_t code = 0;

	for (uint32_t i = 0; code == 0 && i < config->count; i++) {
		code = etl_range_config_passes(context, device, &config->names[i], 1, &passes);
		if (passes > 1)
			lack(session, i, -ERANGE);
		else
			names[n++] = config->names[i];
	}
	for (uint32_t i = 0; code == 0 && i < n; i++) {
		code = etl_range_config_passes(context, device, names + first, i + 1 - first, &passes);
		if (code != 0 || passes <= 1)
			continue;
		code = add_list(session, names + first, i - first);
		first = i--; /* once more, as the first of the next */
	}
	if (code == 0)
		code = n > 0 ? add_list(session, names + first, n - first) : -ERANGE;
	for (uint32_t i = config->count; i < config->all; i++)
		lack(session, i, config->metrics[i].result);
	return code;
}

static int64_t split(struct etl_range_session *session, uint32_t device)
{
	if (!etl_peek(&enabled)) {
		int64_t code = split_for(session, session->context, device);

		/* Another thread may have begun meanwhile. */
		if (code == 0 || !etl_peek(&enabled))
			return code;
		free_lists(session);
		session->n_lacking = 0;
	}
	return split_for(session, NULL, device);
}

void etl_range_sessions_forget(void)
{
	etl_put(&enabled, 0);
}

static uint32_t device_of(void *context)
{
	uint32_t device = 0;

	if (etl_injector.cupti.get_device_id)
		(void)etl_injector.cupti.get_device_id(context, &device);
	return device;
}

/* CUPTI is not asked what can be counted just now while it counts. */
static int64_t configure(struct etl_range_session *session, const char *list)
{
	const uint32_t device = device_of(session->context);
	int64_t code;

	if (!etl_peek(&enabled)) {
		code = etl_range_config_make(&session->config, session->context, device, list);
		/* Another thread may have begun meanwhile. */
		if (code == 0 || !etl_peek(&enabled))
			return code;
	}
	return etl_range_config_make(&session->config, NULL, device, list);
}

/* One of the lists; with the first, what is in none is told. */
static int64_t use_list(struct etl_range_session *session, uint32_t number)
{
	int64_t code = configure(session, session->lists[number]);

	for (uint32_t i = 0; code == 0 && number == 0 && i < session->n_lacking; i++)
		etl_range_config_lack(&session->config, &session->lacking[i]);
	return code;
}

/* What is executed once has one pass; each run of the command counts one list. */
static bool is_split(const struct etl_range_session *session)
{
	return (etl_range_asked.is_by_range || etl_range_asked.run) && session->config.passes > 1;
}

/* Of several GPUs, the one with most lists says how often the command is run; one that refuses to
 * count says nothing. */
static void tell_groups(const struct etl_range_session *session)
{
	_Atomic uint64_t *groups = &etl_injector.map.segment->counters.range_groups;
	uint64_t before;

	do
		before = etl_peek(groups);
	while (before < session->n_lists && !etl_claim(groups, before, session->n_lists));
}

int64_t etl_range_session_begin(struct etl_range_session *session, void *context)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	uint32_t device = 0;
	int64_t code;

	session->is_running = false;
	session->n_lists = session->turn = session->n_lacking = 0;
	if (!cupti->get_context_id || cupti->get_context_id(context, &session->context_id) != CUPTI_OK)
		session->context_id = 0;
	session->device_id = -1;
	if (cupti->get_device_id && cupti->get_device_id(context, &device) == CUPTI_OK)
		session->device_id = (int32_t)device;
	code = configure(session, etl_range_asked.metrics);
	if (code != 0)
		return code;
	if (is_split(session)) {
		code = split(session, device);
		etl_range_config_free(&session->config);
		if (code == 0)
			code = use_list(session, etl_range_asked.run ?
					(etl_range_asked.run - 1) % session->n_lists : 0);
	}
	if (code == 0)
		code = enable(session);
	if (code == 0)
		tell_groups(session);
	else
		free_lists(session);
	return code;
}

/* The next list's turn.  All is made anew: with configurations side by side, an H200's counters gave
 * no numbers. */
static int64_t take_turn(struct etl_range_session *session)
{
	int64_t code;

	if (session->n_lists < 2 || session->turn == 0 || etl_range_asked.run)
		return 0;
	close_session(session);
	code = use_list(session, session->turn % session->n_lists);
	return code ? code : enable(session);
}

int64_t etl_range_session_start(struct etl_range_session *session, const char *name)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	int64_t code = take_turn(session);
	struct pm_counter_data_initialize clear = PM_PARAMS(pm_counter_data_initialize, image,
		.object = session->object, .size = session->image_bytes, .image = session->image);
	struct range_set_config set = PM_PARAMS(range_set_config, target_level,
		.object = session->object, .config_size = session->config.image_bytes,
		.config = session->config.image, .size = session->image_bytes,
		.image = session->image, .range = name ? RANGE_USER : RANGE_AUTO,
		.replay = name || etl_range_asked.run ? RANGE_USER_REPLAY : RANGE_KERNEL_REPLAY,
		.max_ranges = MOST_RANGES, .levels = 1, .min_level = 1, .target_level = 1);
	struct pm_object start = PM_PARAMS(pm_object, object, .object = session->object);
	struct range_push push = PM_PARAMS(range_push, name, .object = session->object, .name = name);

	if (code == 0)
		code = cupti->range_counter_data_initialize(&clear);
	if (code == 0)
		code = cupti->range_set_config(&set);
	etl_put(&session->launches, 0);
	etl_put(&session->launch_hash, 0);
	session->start_ns = etl_now_ns();
	if (code == 0)
		code = cupti->range_start(&start);
	session->is_running = code == 0;
	if (code == 0 && name)
		code = cupti->range_push(&push);
	return code;
}

/* Ranges in the counter data, and those that found no place in it. */
static int64_t decode(struct etl_range_session *session, size_t *ranges, size_t *dropped)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct pm_object pop = PM_PARAMS(pm_object, object, .object = session->object);
	struct range_stop stop = PM_PARAMS(range_stop, is_all_submitted, .object = session->object);
	struct range_decode ask = PM_PARAMS(range_decode, dropped, .object = session->object);
	struct range_counter_data_info info = PM_PARAMS(range_counter_data_info, ranges,
		.image = session->image, .size = session->image_bytes);
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
	struct etl_range_measured measured = { .values = session->config.all,
					       .start_ns = session->start_ns,
					       .end_ns = etl_now_ns(),
					       .context_id = session->context_id,
					       .device_id = session->device_id,
					       .correlation_id = correlation_id,
					       .passes = session->config.passes,
					       .launches = (uint32_t)etl_peek(&session->launches),
					       .launch_hash = etl_peek(&session->launch_hash),
					       .is_range = etl_range_asked.is_by_range };

	if (!is_launched)
		return code;
	/* One without values has its number, too: of several runs, the n-th is compared. */
	measured.range_id = etl_add(&last_id, 1) + 1;
	etl_add(&counters->range_launches, 1);
	etl_add(&counters->range_ns, (uint64_t)(measured.end_ns - measured.start_ns));
	if (code != 0 || ranges != 1 || dropped != 0) {
		etl_add(&counters->range_dropped, 1);
		return code;
	}
	if (etl_injector.cupti.version >= RANGE_API_CACHE_CONTROL)
		measured.cache_control = etl_range_asked.cache_control == RANGE_CACHE_NONE ? 1 : 2;
	etl_range_config_evaluate(&session->config, session->image, session->image_bytes, values, results);
	etl_range_rows_add(measured, name, session->config.metrics, values, results);
	session->turn++;
	return 0;
}

void etl_range_session_launched(struct etl_range_session *session, uint64_t launch)
{
	uint64_t before;

	etl_add(&session->launches, 1);
	do
		before = etl_peek(&session->launch_hash);
	while (!etl_claim(&session->launch_hash, before, etl_fold(before + 1, launch)));
}

void etl_range_session_end(struct etl_range_session *session)
{
	struct range_stop stop = PM_PARAMS(range_stop, is_all_submitted, .object = session->object);

	if (session->is_running)
		(void)etl_injector.cupti.range_stop(&stop);
	session->is_running = false;
	if (session->object)
		close_session(session);
	free_lists(session);
}

#include <errno.h>
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

static int64_t have_image(struct etl_range_session *session)
{
	struct range_counter_data_size ask = PARAMS(range_counter_data_size, size,
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
	struct range_object ask = PARAMS(range_object, object, .object = session->object);

	(void)etl_injector.cupti.range_disable(&ask);
	session->object = NULL;
	etl_add(&enabled, UINT64_MAX);
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
	code = etl_range_config_make(&session->config, etl_peek(&enabled) ? NULL : context, device,
				     etl_range_asked.metrics);
	if (code != 0)
		return code;
	if (cupti->version >= RANGE_API_CACHE_CONTROL) {
		enable.struct_size = PM_SIZE(range_enable, cache_control);
		enable.cache_control = etl_range_asked.cache_control;
	}
	code = cupti->range_enable(&enable);
	if (code == 0) {
		etl_add(&enabled, 1);
		session->object = enable.object;
		code = have_image(session);
		if (code != 0)
			disable(session);
	}
	if (code != 0)
		etl_range_config_free(&session->config);
	return code;
}

int64_t etl_range_session_start(struct etl_range_session *session)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct range_counter_data_initialize clear = PARAMS(range_counter_data_initialize, image,
		.object = session->object, .size = session->image_bytes, .image = session->image);
	struct range_set_config set = PARAMS(range_set_config, target_level,
		.object = session->object, .config_size = session->config.image_bytes,
		.config = session->config.image, .size = session->image_bytes,
		.image = session->image, .range = RANGE_AUTO, .replay = RANGE_KERNEL_REPLAY,
		.max_ranges = MOST_RANGES, .levels = 1, .min_level = 1, .target_level = 1);
	struct range_object start = PARAMS(range_object, object, .object = session->object);
	int result = cupti->range_counter_data_initialize(&clear);

	if (result == CUPTI_OK)
		result = cupti->range_set_config(&set);
	session->start_ns = etl_now_ns();
	if (result == CUPTI_OK)
		result = cupti->range_start(&start);
	session->is_running = result == CUPTI_OK;
	return result;
}

/* Ranges in the counter data, and those that found no place in it. */
static int64_t decode(struct etl_range_session *session, size_t *ranges, size_t *dropped)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	struct range_stop stop = PARAMS(range_stop, is_all_submitted, .object = session->object);
	struct range_decode ask = PARAMS(range_decode, dropped, .object = session->object);
	struct range_counter_data_info info = PARAMS(range_counter_data_info, ranges,
		.image = session->image, .size = session->image_bytes);
	int result = cupti->range_stop(&stop);

	session->is_running = false;
	if (result == CUPTI_OK)
		result = cupti->range_decode(&ask);
	if (result == CUPTI_OK)
		result = cupti->range_counter_data_info(&info);
	*ranges = info.ranges;
	*dropped = ask.dropped;
	return result;
}

int64_t etl_range_session_stop(struct etl_range_session *session, uint32_t correlation_id,
			       const char *kernel, bool is_launched)
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
					       .passes = session->config.passes };

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
	etl_range_config_evaluate(&session->config, session->image, session->image_bytes, values,
				  results);
	etl_range_rows_add(measured, kernel, session->config.metrics, values, results);
	return 0;
}

void etl_range_session_end(struct etl_range_session *session)
{
	struct range_stop stop = PARAMS(range_stop, is_all_submitted, .object = session->object);

	if (session->is_running)
		(void)etl_injector.cupti.range_stop(&stop);
	session->is_running = false;
	disable(session);
	etl_range_config_free(&session->config);
	etl_free_memory(session->image, session->image_bytes);
	session->image = NULL;
}

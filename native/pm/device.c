
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "etl/clock.h"
#include "pm/device.h"

enum { HARDWARE_BYTES = 256 << 20 };
/* Of a large image: what the hardware's buffer can hold, as far as memory allows. */
enum { LARGE_ROOM = 8, MOST_LARGE_BYTES = 256 << 20 };

uint32_t pm_samples_a_decode(const struct pm_device *device)
{
	uint64_t least = SHORTEST_PERIOD_NS / device->interval_ns;

	return least > SAMPLES_A_DECODE ? (uint32_t)least : SAMPLES_A_DECODE;
}

void image_push(struct image_queue *queue, struct image *image)
{
	image->next = NULL;
	*queue->last = image;
	queue->last = &image->next;
}

struct image *image_pop(struct image_queue *queue)
{
	struct image *image = queue->first;

	if (image) {
		queue->first = image->next;
		if (!queue->first)
			queue->last = &queue->first;
	}
	return image;
}

static int counter_data_size(const struct pm_device *device, uint32_t slots, size_t *size,
			     struct etl_error *error)
{
	struct pm_counter_data_size ask = PM_PARAMS(pm_counter_data_size, size,
		.object = device->object, .metrics = (const char *const *)device->metrics,
		.count = device->metric_count, .max_samples = slots);
	int result = device->api->counter_data_size(&ask);

	*size = ask.size;
	return result ? pm_fail(device->api, result, "cuptiPmSamplingGetCounterDataSize", error)
		      : 0;
}

static int make_pattern(const struct pm_device *device, struct pattern *pattern, uint32_t slots,
			struct etl_error *error)
{
	struct pm_counter_data_initialize ask = PM_PARAMS(pm_counter_data_initialize, image,
		.object = device->object);
	int result = counter_data_size(device, slots, &pattern->size, error);

	if (result)
		return result;
	pattern->slots = slots;
	pattern->bytes = calloc(1, pattern->size ? pattern->size : 1);
	if (!pattern->bytes)
		return etl_fail(error, ENOMEM, "no memory for %zu bytes of counter data",
				pattern->size);
	ask.size = pattern->size;
	ask.image = pattern->bytes;
	result = device->api->counter_data_initialize(&ask);
	return result ? pm_fail(device->api, result, "cuptiPmSamplingCounterDataImageInitialize",
				error)
		      : 0;
}

static int make_image(struct image *image, const struct pattern *pattern, struct etl_error *error)
{
	size_t slots = pattern->slots;

	image->pattern = pattern;
	image->bytes = malloc(pattern->size ? pattern->size : 1);
	image->index = calloc(slots, sizeof *image->index);
	image->start_ns = calloc(slots, sizeof *image->start_ns);
	image->end_ns = calloc(slots, sizeof *image->end_ns);
	if (!image->bytes || !image->index || !image->start_ns || !image->end_ns)
		return etl_fail(error, ENOMEM, "no memory for %zu bytes of counter data",
				pattern->size);
	memcpy(image->bytes, pattern->bytes, pattern->size);
	return 0;
}

/* The images, by the interval: what comes between two decodes, and room. */
static int make_images(struct pm_device *device, struct etl_error *error)
{
	uint32_t expected = pm_samples_a_decode(device);
	uint32_t slots = ROOM * expected, large = LARGE_ROOM * expected;
	int result = make_pattern(device, &device->normal, slots, error);

	if (result)
		return result;
	while (large > slots && device->normal.size / slots * large > MOST_LARGE_BYTES)
		large /= 2;
	result = make_pattern(device, &device->large, large, error);
	if (result == 0 && large > slots &&
	    (device->large.size - device->normal.size) % (large - slots) == 0)
		device->slot_bytes = (device->large.size - device->normal.size) / (large - slots);
	device->checks = CHECKS;
	for (size_t i = 0; i < IMAGES && result == 0; i++) {
		result = make_image(&device->images[i],
				    i < LARGE_IMAGES ? &device->large : &device->normal, error);
		image_push(&device->free, &device->images[i]);
	}
	device->stats.image_bytes = device->normal.size;
	device->stats.image_slots = slots;
	return result;
}

static int enable(struct pm_device *device, struct etl_error *error)
{
	struct pm_enable ask = PM_PARAMS(pm_enable, object, .device = device->index);
	int result = device->api->enable(&ask);

	if (result)
		return pm_fail(device->api, result, "cuptiPmSamplingEnable", error);
	device->object = ask.object;
	return 0;
}

static int configure(struct pm_device *device, struct etl_error *error)
{
	const struct pm_api *api = device->api;
	struct pm_set_config ask = PM_PARAMS(pm_set_config, trigger, .object = device->object,
		.config_size = device->config.size, .config = device->config.data,
		.hardware_buffer_size = device->hardware_bytes, .interval = device->interval_ns,
		.trigger = device->is_by_cycles ? PM_TRIGGER_CYCLES : PM_TRIGGER_TIME);
	int result;

	if (api->version >= PM_API_APPEND_MODE) {
		ask.struct_size = PM_SIZE(pm_set_config, append_mode);
		ask.append_mode = PM_KEEP_OLDEST;
	}
	result = api->set_config(&ask);
	return result ? pm_fail(api, result, "cuptiPmSamplingSetConfig", error) : 0;
}

static void disable(struct pm_device *device)
{
	struct pm_object ask = PM_PARAMS(pm_object, object, .object = device->object);

	if (device->object)
		device->api->disable(&ask);
	device->object = NULL;
}

int pm_device_start(struct pm_device *device, struct etl_error *error)
{
	struct pm_object ask = PM_PARAMS(pm_object, object, .object = device->object);
	int result;

	/* Samples gather from within this call on, which can take a while. */
	device->decoded_ns = etl_clock_ns(CLOCK_MONOTONIC);
	result = device->api->start(&ask);
	if (!device->started_ns)
		device->started_ns = etl_clock_ns(CLOCK_REALTIME);
	return result ? pm_fail(device->api, result, "cuptiPmSamplingStart", error) : 0;
}

int pm_device_restart(struct pm_device *device, struct etl_error *error)
{
	int result;

	pm_device_stop(device);
	result = pm_device_start(device, error);
	if (result == 0)
		return 0;
	/* Then from the ground up. */
	disable(device);
	result = enable(device, error);
	if (result == 0)
		result = configure(device, error);
	return result == 0 ? pm_device_start(device, error) : result;
}

void pm_device_stop(struct pm_device *device)
{
	struct pm_object ask = PM_PARAMS(pm_object, object, .object = device->object);

	if (device->object)
		device->api->stop(&ask);
}

/* The metrics that can be counted together. */
static int choose_metrics(struct pm_device *device, const struct etl_sampling_request *ask,
			  struct etl_error *error)
{
	int result;

	device->metrics = calloc(ask->metric_count, sizeof *device->metrics);
	if (!device->metrics)
		return etl_fail(error, ENOMEM, "no memory for metrics");
	result = etl_host_select(device->host, ask->metrics, ask->is_optional, ask->metric_count,
				 ask->is_kept, error);
	for (size_t i = 0; i < ask->metric_count && result == 0; i++) {
		if (!ask->is_kept[i])
			continue;
		device->metrics[device->metric_count] = strdup(ask->metrics[i]);
		if (!device->metrics[device->metric_count])
			result = etl_fail(error, ENOMEM, "no memory for metrics");
		else
			device->metric_count++;
	}
	return result;
}

/* Columns of metrics that are kept, which are numbered anew. */
static int choose_columns(struct pm_device *device, const struct etl_sampling_request *ask,
			  struct etl_error *error)
{
	int32_t *place = calloc(ask->metric_count + 1, sizeof *place), kept = 0;

	device->columns = calloc(ask->column_count + 1, sizeof *device->columns);
	if (!place || !device->columns) {
		free(place);
		return etl_fail(error, ENOMEM, "no memory for columns");
	}
	for (size_t i = 0; i < ask->metric_count; i++)
		place[i] = ask->is_kept[i] ? kept++ : -1;
	for (size_t i = 0; i < ask->column_count; i++) {
		struct etl_sampled_column column = ask->columns[i];

		if (place[column.numerator] < 0)
			continue;
		column.numerator = (uint32_t)place[column.numerator];
		if (column.denominator >= 0) {
			column.denominator = place[column.denominator];
			if (column.denominator < 0)
				continue;
		}
		device->columns[device->column_count++] = column;
	}
	free(place);
	return 0;
}

static int open_device(struct pm_device *device, const struct etl_sampling_request *ask,
		       struct etl_error *error)
{
	struct etl_bytes availability = { 0 };
	char chip[64];
	uint32_t passes;
	int result = etl_cupti_device_chip(device->api, ask->index, chip, sizeof chip, error);

	if (result == 0)
		result = etl_cupti_availability(device->api, ask->index, &availability, error);
	if (result == 0)
		result = etl_host_new(device->api, chip, PM_TYPE_PM_SAMPLING, &availability,
				      ask->single_pass_set, &device->host, error);
	etl_bytes_free(&availability);
	if (result == 0)
		result = choose_metrics(device, ask, error);
	if (result == 0)
		result = choose_columns(device, ask, error);
	if (result == 0)
		result = etl_host_config(device->host, (const char *const *)device->metrics,
					 device->metric_count, &device->config, &passes, error);
	if (result == 0)
		result = enable(device, error);
	if (result == 0)
		result = configure(device, error);
	return result == 0 ? make_images(device, error) : result;
}

int pm_device_open(struct pm_device *device, const struct pm_api *api,
		   const struct etl_sampling_request *ask, struct etl_error *error)
{
	pthread_condattr_t monotonic;
	int result;

	memset(device, 0, sizeof *device);
	device->api = api;
	device->index = ask->index;
	device->interval_ns = ask->interval_ns;
	device->hardware_bytes = ask->hardware_bytes ? ask->hardware_bytes : HARDWARE_BYTES;
	device->is_by_cycles = ask->is_by_cycles;
	device->is_draining_only = ask->is_draining_only;
	device->free.last = &device->free.first;
	device->decoded.last = &device->decoded.first;
	pthread_mutex_init(&device->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&device->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	result = open_device(device, ask, error);
	if (result)
		pm_device_close(device);
	return result;
}

void pm_device_close(struct pm_device *device)
{
	disable(device);
	for (size_t i = 0; i < IMAGES; i++) {
		free(device->images[i].bytes);
		free(device->images[i].index);
		free(device->images[i].start_ns);
		free(device->images[i].end_ns);
	}
	free(device->normal.bytes);
	free(device->large.bytes);
	etl_bytes_free(&device->config);
	etl_host_free(device->host);
	for (size_t i = 0; i < device->metric_count; i++)
		free(device->metrics[i]);
	free(device->metrics);
	free(device->columns);
	pthread_cond_destroy(&device->changed);
	pthread_mutex_destroy(&device->lock);
}

int etl_cupti_sample_bytes(const struct pm_api *api, uint64_t index, int is_by_cycles,
			   const struct etl_bytes *config, const char *const *metrics, uint64_t n,
			   double *bytes, struct etl_error *error)
{
	enum { FEW = 1000, MANY = 3000 };
	struct pm_device device = { .api = api, .index = index, .is_by_cycles = is_by_cycles != 0,
		.config = *config, .hardware_bytes = 16 << 20, .interval_ns = 1000000,
		.metrics = (char **)(uintptr_t)metrics, .metric_count = n };
	size_t few = 0, many = 0;
	int result = enable(&device, error);

	if (result == 0)
		result = configure(&device, error);
	if (result == 0)
		result = counter_data_size(&device, FEW, &few, error);
	if (result == 0)
		result = counter_data_size(&device, MANY, &many, error);
	/* An image has a head, too. */
	*bytes = result ? 0 : ((double)many - (double)few) / (MANY - FEW);
	disable(&device);
	return result;
}

void pm_device_ask_to_stop(struct pm_device *device)
{
	pthread_mutex_lock(&device->lock);
	device->is_stopping = true;
	pthread_cond_broadcast(&device->changed);
	pthread_mutex_unlock(&device->lock);
}

void pm_device_failed(struct pm_device *device, int result, const struct etl_error *error)
{
	pthread_mutex_lock(&device->lock);
	if (!device->is_failed) {
		device->failure_result = result;
		device->failure = *error;
	}
	device->is_failed = true;
	pthread_cond_broadcast(&device->changed);
	pthread_mutex_unlock(&device->lock);
}

/* The decoding thread: takes what the hardware has written, and tells what is missing. */
#include <time.h>

#include "etl/clock.h"
#include "pm/device.h"
#include "pm/reader.h"

enum { LAST_ROUNDS = 8 };

static void tell_loss(struct pm_device *device, uint32_t cause, int64_t start_ns, int64_t end_ns)
{
	struct etl_sample_loss loss = { .cause = cause, .start_ns = start_ns, .end_ns = end_ns };

	loss.samples = (end_ns - start_ns + (int64_t)device->interval_ns / 2) /
		       (int64_t)device->interval_ns;
	frames_send(device->frames, ETL_FRAME_LOSS, device->number, 1,
		    &(struct frame_piece){ &loss, sizeof loss }, 1);
	device->stats.gaps++;
	device->stats.missing += (uint64_t)loss.samples;
}

/* Whether a sample is one; the first has no start, and after a stop come some of no length. */
static bool is_sample(const struct pm_sample_info *info)
{
	return info->start_ns != 0 && info->end_ns > info->start_ns;
}

/* What lies between the last sample and this one is missing. */
static void look_for_gap(struct pm_device *device, int64_t start_ns)
{
	int64_t missing = start_ns - device->last_end_ns;

	if (device->last_end_ns && missing > (int64_t)device->interval_ns / 2)
		tell_loss(device, device->gap_cause ? device->gap_cause : ETL_GAP_UNKNOWN,
			  device->last_end_ns, start_ns);
	device->gap_cause = 0;
}

/* Notes which samples of an image are to be evaluated, and of how many. */
static int choose_samples(struct pm_device *device, struct image *image, uint64_t *completed,
			  struct etl_error *error)
{
	const struct pm_api *api = device->api;
	struct pm_counter_data_info info = PM_PARAMS(pm_counter_data_info, completed,
		.image = image->bytes, .size = image->pattern->size);
	struct pm_sample_info sample = PM_PARAMS(pm_sample_info, end_ns, .object = device->object,
		.image = image->bytes, .size = image->pattern->size);
	int result = api->counter_data_info(&info);

	image->count = 0;
	*completed = info.completed;
	if (result)
		return pm_fail(api, result, "cuptiPmSamplingGetCounterDataInfo", error);
	image->used = info.populated > info.completed ? info.populated : info.completed;
	for (size_t i = 0; i < info.completed && i < image->pattern->slots; i++) {
		sample.index = i;
		result = api->sample_info(&sample);
		if (result)
			return pm_fail(api, result, "cuptiPmSamplingCounterDataGetSampleInfo",
				       error);
		if (!is_sample(&sample)) {
			device->stats.dropped++;
			continue;
		}
		look_for_gap(device, (int64_t)sample.start_ns);
		device->last_end_ns = (int64_t)sample.end_ns;
		image->index[image->count] = (uint32_t)i;
		image->start_ns[image->count] = (int64_t)sample.start_ns;
		image->end_ns[image->count] = (int64_t)sample.end_ns;
		image->count++;
	}
	return 0;
}

/* The first free image of a size, or NULL; the device's lock is held. */
static struct image *pick(struct image_queue *free, const struct pattern *wanted)
{
	for (int i = 0; i < IMAGES; i++) {
		struct image *image = image_pop(free);

		if (!image || image->pattern == wanted)
			return image;
		image_push(free, image);
	}
	return NULL;
}

/* Which size takes what has gathered since the last decode, with half of it to spare: a full
 * image loses samples, while they can still wait in the hardware's buffer.  The large
 * ones take other memory each time, so they are for need alone. */
static const struct pattern *fitting(const struct pm_device *device)
{
	uint64_t gathered = (uint64_t)(etl_clock_ns(CLOCK_MONOTONIC) - device->decoded_ns) /
			    device->interval_ns;

	return gathered > device->normal.slots / 2 ? &device->large : &device->normal;
}

/* An image for what has gathered, once one is free; NULL after a failure. */
static struct image *take_image(struct pm_device *device)
{
	struct image *image = NULL;

	pthread_mutex_lock(&device->lock);
	while (!device->is_failed && !(image = pick(&device->free, fitting(device))))
		pthread_cond_wait(&device->changed, &device->lock);
	pthread_mutex_unlock(&device->lock);
	return image;
}

static void pass_on(struct pm_device *device, struct image *image)
{
	pthread_mutex_lock(&device->lock);
	image_push(&device->decoded, image);
	pthread_cond_broadcast(&device->changed);
	pthread_mutex_unlock(&device->lock);
}

/* What the last decode showed to be lost: whether sampling has to begin anew.  A full image loses
 * what else had gathered; on an H200 what came later was whole, while others were seen to give
 * nothing but samples without a time. */
static bool look_for_loss(struct pm_device *device, const struct image *image, uint64_t completed,
			  bool is_over, bool is_full)
{
	bool is_dry = device->was_full && completed > 0 && image->count == 0;

	device->was_full = is_full;
	if (!is_over && !is_full && !is_dry)
		return false;
	device->gap_cause = is_over ? ETL_GAP_OVERFLOW : ETL_GAP_FULL;
	if (!device->last_end_ns)
		device->last_end_ns = device->started_ns;
	return (is_over || is_dry) && !device->is_stopped;
}

/* Decodes once; how many samples there were, or a failure as -1. */
static int64_t decode(struct pm_device *device)
{
	struct etl_error error = { "" };
	struct image *image = take_image(device);
	struct pm_decode ask = PM_PARAMS(pm_decode, overflow, .object = device->object);
	bool is_over, begins_anew = false;
	uint64_t completed = 0;
	int64_t count = 0;
	int result, chosen;

	if (!image)
		return -1;
	ask.image = image->bytes;
	ask.size = image->pattern->size;
	image->used = image->pattern->slots;
	device->decoded_ns = etl_clock_ns(CLOCK_MONOTONIC);
	result = device->api->decode(&ask);
	is_over = ask.overflow || result == PM_OUT_OF_MEMORY;
	device->stats.decodes++;
	if (result && !is_over) {
		result = pm_fail(device->api, result, "cuptiPmSamplingDecodeData", &error);
		image->count = 0;
	} else {
		/* What was sampled before the buffer ran over is whole. */
		chosen = choose_samples(device, image, &completed, &error);
		result = is_over ? 0 : chosen;
		count = (int64_t)image->count;
		begins_anew = look_for_loss(device, image, completed, is_over,
					    ask.stop_reason == PM_STOP_COUNTER_DATA_FULL);
	}
	device->stats.decode_ns = (uint64_t)etl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	pass_on(device, image);
	if (result == 0 && begins_anew) {
		device->stats.restarts++;
		result = pm_device_restart(device, &error);
	}
	if (result == 0)
		return count;
	pm_device_failed(device, result, &error);
	return -1;
}

/* Until the next decode is due; false if there is to be none. */
static bool wait_for_turn(struct pm_device *device)
{
	int64_t period_ns = (int64_t)device->interval_ns * pm_samples_a_decode(device);
	int64_t now = etl_clock_ns(CLOCK_MONOTONIC);
	struct timespec due;
	bool goes_on;

	if (period_ns > LONGEST_PERIOD_NS)
		period_ns = LONGEST_PERIOD_NS;
	now = device->decoded_ns + period_ns > now ? device->decoded_ns + period_ns : now;
	due = (struct timespec){ now / 1000000000, now % 1000000000 };
	pthread_mutex_lock(&device->lock);
	while (!device->is_stopping && !device->is_failed &&
	       pthread_cond_timedwait(&device->changed, &device->lock, &due) == 0)
		;
	goes_on = !device->is_stopping && !device->is_failed;
	pthread_mutex_unlock(&device->lock);
	return goes_on;
}

void *pm_decode_thread(void *argument)
{
	struct pm_device *device = argument;
	int64_t count = 0, stopped_ns;
	bool is_failed;

	while (count >= 0 && wait_for_turn(device))
		count = decode(device);
	stopped_ns = etl_clock_ns(CLOCK_REALTIME);
	pm_device_stop(device);
	device->is_stopped = true;
	/* What came between the last decode and the stop; more than once, should an image not
	 * do. */
	for (int round = 0; round < LAST_ROUNDS && count >= 0; round++) {
		count = decode(device);
		if (count == 0)
			break;
	}
	pthread_mutex_lock(&device->lock);
	device->is_decoded = true;
	is_failed = device->is_failed;
	pthread_cond_broadcast(&device->changed);
	pthread_mutex_unlock(&device->lock);
	if (is_failed)
		tell_loss(device, ETL_GAP_FAILED,
			  device->last_end_ns ? device->last_end_ns : device->started_ns,
			  etl_clock_ns(CLOCK_REALTIME));
	else if (device->gap_cause && stopped_ns > device->last_end_ns)
		/* No sample came any more that would have ended it. */
		tell_loss(device, device->gap_cause, device->last_end_ns, stopped_ns);
	return NULL;
}

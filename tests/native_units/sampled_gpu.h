/* A CUPTI that gives samples of one GPU: as many as it is told, 700 a decode; it runs over, fails
 * and is lost at the decode that it is told. */
#ifndef SAMPLED_GPU_H
#define SAMPLED_GPU_H

#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "pm/pm_api.h"

enum { INTERVAL = 20000 };

/* Counter data: a head, and slots. */
struct head {
	uint64_t count, most;
};
struct slot {
	uint64_t start, end;
	uint8_t rest[240];
};

static struct {
	uint64_t next; /* start of the next sample */
	uint64_t limit; /* samples that will come, all in all */
	uint64_t made;
	bool is_running, is_first;
	unsigned decodes, overflow_at, full_at, lost_at;
	bool is_over;
	size_t dirty; /* images that were not as at first */
	unsigned starts, stops, enables;
	bool is_stubborn, needs_enable; /* after an overflow it starts only when enabled anew */
	bool dries_up, is_dry; /* after a full image samples have no times, until a start */
	bool writes_far; /* counter data is not slot after slot */
} gpu;

static int get_result_string(int result, const char **text)
{
	(void)result;
	*text = "A_RESULT";
	return 0;
}

static int start(struct pm_object *ask)
{
	CHECK(ask->struct_size == PM_SIZE(pm_object, object) && !gpu.is_running);
	if (gpu.needs_enable)
		return PM_UNKNOWN;
	gpu.is_running = gpu.is_first = true;
	gpu.is_over = gpu.is_dry = false;
	gpu.starts++;
	return 0;
}

static int stop(struct pm_object *ask)
{
	(void)ask;
	gpu.is_running = false;
	gpu.stops++;
	return 0;
}

static bool put(struct head *head, uint64_t begin, uint64_t end)
{
	struct slot *slot = (struct slot *)(head + 1) + head->count;

	if (head->count == head->most)
		return false;
	memset(slot, 0x5a, sizeof *slot);
	slot->start = begin;
	slot->end = end;
	head->count++;
	return true;
}

/* Whether counter data is as it was initialised. */
static bool is_new(const struct head *head)
{
	const uint8_t *at = (const uint8_t *)(head + 1), *end = at + head->most * sizeof(struct slot);

	while (at < end && *at == 0)
		at++;
	return head->count == 0 && at == end;
}

static int decode(struct pm_decode *ask)
{
	struct head *head = (struct head *)ask->image;
	uint64_t ready = gpu.limit - gpu.made < 700 ? gpu.limit - gpu.made : 700;
	unsigned turn = ++gpu.decodes;

	gpu.dirty += !is_new(head);
	if (gpu.writes_far)
		((struct slot *)(head + 1))[head->most - 1].rest[turn % 240] = 1;
	if (turn == gpu.lost_at)
		return PM_UNKNOWN;
	if (gpu.is_over)
		ready = 0;
	if (turn == gpu.full_at)
		ready /= 2;
	for (uint64_t i = 0; i < ready; i++) {
		if (gpu.is_dry ? !put(head, 0, 0)
			       : !put(head, gpu.is_first ? 0 : gpu.next, gpu.next + INTERVAL))
			break;
		gpu.is_first = false;
		gpu.next += INTERVAL;
		gpu.made++;
	}
	if (!gpu.is_running)
		put(head, gpu.next, gpu.next);
	ask->stop_reason = turn == gpu.full_at ? PM_STOP_COUNTER_DATA_FULL
					       : PM_STOP_END_OF_RECORDS;
	if (turn == gpu.full_at) {
		gpu.next += 100 * INTERVAL;
		gpu.is_dry = gpu.dries_up;
	}
	if (turn == gpu.overflow_at) {
		gpu.needs_enable = gpu.is_stubborn;
		gpu.is_over = true;
		gpu.next += 50 * INTERVAL;
	}
	ask->overflow = gpu.is_over;
	return gpu.is_over ? PM_OUT_OF_MEMORY : 0;
}

static int counter_data_info(struct pm_counter_data_info *ask)
{
	ask->completed = ask->populated = ((const struct head *)ask->image)->count;
	return 0;
}

static int sample_info(struct pm_sample_info *ask)
{
	const struct slot *slot = (const struct slot *)((const struct head *)ask->image + 1);

	ask->start_ns = slot[ask->index].start;
	ask->end_ns = slot[ask->index].end;
	return 0;
}

static int counter_data_size(struct pm_counter_data_size *ask)
{
	ask->size = sizeof(struct head) + ask->max_samples * sizeof(struct slot);
	return 0;
}

static int counter_data_initialize(struct pm_counter_data_initialize *ask)
{
	struct head *head = (struct head *)ask->image;

	*head = (struct head){ .most = (ask->size - sizeof *head) / sizeof(struct slot) };
	return 0;
}

static int chip_name(struct pm_chip_name *ask)
{
	ask->chip = "GH100";
	return 0;
}

static int availability(struct pm_availability *ask)
{
	ask->size = 8;
	return 0;
}

static int enable(struct pm_enable *ask)
{
	ask->object = &gpu;
	gpu.needs_enable = false;
	gpu.enables++;
	return 0;
}

static int disable(struct pm_object *ask)
{
	(void)ask;
	return 0;
}

static int set_config(struct pm_set_config *ask)
{
	CHECK(ask->interval == INTERVAL && ask->trigger == PM_TRIGGER_TIME);
	return 0;
}

static int host_initialize(struct pm_host_initialize *ask)
{
	ask->object = &gpu;
	return 0;
}

static int host_deinitialize(struct pm_object *ask)
{
	(void)ask;
	return 0;
}

static int add_metrics(struct pm_add_metrics *ask)
{
	(void)ask;
	return 0;
}

static int config_size(struct pm_config_size *ask)
{
	ask->size = 16;
	return 0;
}

static int config_image(struct pm_config_image *ask)
{
	memset(ask->image, 1, ask->size);
	return 0;
}

static int number_of_passes(struct pm_number_of_passes *ask)
{
	ask->passes = 1;
	return 0;
}

static int evaluate(struct pm_evaluate *ask)
{
	const struct slot *slot = (const struct slot *)((const struct head *)ask->counter_data + 1);

	for (size_t m = 0; m < ask->count; m++)
		ask->values[m] = (double)(slot[ask->range].end % 1000003) + (double)m;
	return 0;
}

static const struct pm_api api = {
	.version = 130500,
	.get_result_string = get_result_string, .chip_name = chip_name,
	.host_initialize = host_initialize, .host_deinitialize = host_deinitialize,
	.add_metrics = add_metrics, .config_size = config_size, .config_image = config_image,
	.number_of_passes = number_of_passes, .evaluate = evaluate,
	.availability = availability, .enable = enable, .disable = disable, .start = start,
	.stop = stop, .set_config = set_config, .counter_data_size = counter_data_size,
	.counter_data_initialize = counter_data_initialize, .decode = decode,
	.counter_data_info = counter_data_info, .sample_info = sample_info,
};

#endif

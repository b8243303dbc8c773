/* The threads that sample: a CUPTI of our own gives samples, runs over, fails, and the frames
 * that come out hold every sample, once and in order, or a loss.
 *
 * CUPTI here is functions in a struct pm_api, so that the sanitizers see both sides. */
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "pm/device.h"

enum { METRICS = 3, INTERVAL = 20000, SAMPLES = 6000 };

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
	unsigned starts, stops;
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
	gpu.is_running = gpu.is_first = true;
	gpu.is_over = false;
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

static int decode(struct pm_decode *ask)
{
	struct head *head = (struct head *)ask->image;
	uint64_t ready = gpu.limit - gpu.made < 700 ? gpu.limit - gpu.made : 700;
	unsigned turn = ++gpu.decodes;

	gpu.dirty += head->count != 0;
	if (turn == gpu.lost_at)
		return PM_UNKNOWN;
	if (gpu.is_over)
		ready = 0;
	if (turn == gpu.full_at)
		ready /= 2;
	for (uint64_t i = 0; i < ready; i++) {
		if (!put(head, gpu.is_first ? 0 : gpu.next, gpu.next + INTERVAL))
			break;
		gpu.is_first = false;
		gpu.next += INTERVAL;
		gpu.made++;
	}
	if (!gpu.is_running)
		put(head, gpu.next, gpu.next);
	ask->stop_reason = turn == gpu.full_at ? PM_STOP_COUNTER_DATA_FULL
					       : PM_STOP_END_OF_RECORDS;
	if (turn == gpu.full_at)
		gpu.next += 100 * INTERVAL;
	if (turn == gpu.overflow_at) {
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

static int host_deinitialize(struct pm_host_deinitialize *ask)
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

/* What the collector would have got. */
static struct {
	uint64_t samples, lost, losses[5];
	int64_t last_end;
	int fd;
	atomic_bool is_done;
} got;

static void receive(void *data, size_t bytes)
{
	char *at = data;

	while (bytes > 0) {
		ssize_t count = recv(got.fd, at, bytes, 0);

		if (count <= 0) {
			CHECK(at == data && count == 0);
			got.is_done = true;
			return;
		}
		at += count;
		bytes -= (size_t)count;
	}
}

static void check_samples(const struct etl_frame *frame, const uint8_t *body)
{
	const int64_t *begin = (const int64_t *)body, *end = begin + frame->rows;
	const double *values = (const double *)(end + frame->rows);

	CHECK(frame->bytes == frame->rows * 8 * (2 + METRICS));
	for (size_t i = 0; i < frame->rows; i++) {
		CHECK(begin[i] >= got.last_end && end[i] == begin[i] + INTERVAL);
		for (size_t m = 0; m < METRICS; m++)
			CHECK(values[m * frame->rows + i] ==
			      (double)((uint64_t)end[i] % 1000003) + (double)m);
		got.last_end = end[i];
	}
	got.samples += frame->rows;
}

static void *collect(void *unused)
{
	static uint8_t body[ROWS_A_FRAME * 8 * (2 + METRICS)] __attribute__((aligned(8)));
	struct etl_frame frame;

	for (receive(&frame, sizeof frame); !got.is_done; receive(&frame, sizeof frame)) {
		CHECK(frame.magic == ETL_FRAME_MAGIC && frame.bytes <= sizeof body);
		receive(body, frame.bytes);
		if (frame.type == ETL_FRAME_SAMPLES) {
			check_samples(&frame, body);
		} else {
			struct etl_sample_loss loss;

			CHECK(frame.type == ETL_FRAME_LOSS && frame.bytes == sizeof loss);
			memcpy(&loss, body, sizeof loss);
			got.losses[loss.cause]++;
			got.lost += (uint64_t)loss.samples;
		}
	}
	return unused;
}

static void open_device(struct pm_device *device, struct frames *frames)
{
	const char *metrics[METRICS] = { "sm__a.sum", "sm__b.sum", "sm__c.sum" };
	uint8_t is_optional[METRICS] = { 0 }, is_kept[METRICS];
	struct etl_sampling_request ask = { .metrics = metrics, .is_optional = is_optional,
		.is_kept = is_kept, .metric_count = METRICS, .interval_ns = INTERVAL };
	struct etl_error error;

	CHECK(pm_device_open(device, &api, &ask, &error) == 0);
	device->frames = frames;
}

/* Samples until the GPU has no more, or is lost. */
static void run(uint64_t limit, unsigned overflow_at, unsigned full_at, unsigned lost_at,
		struct etl_sampling *stats)
{
	struct frames frames = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct pm_device device;
	struct etl_error error;
	pthread_t collector;
	int pair[2];
	bool goes_on = true;

	memset(&gpu, 0, sizeof gpu);
	memset(&got, 0, sizeof got);
	gpu.next = 1000000007;
	gpu.limit = limit;
	gpu.overflow_at = overflow_at;
	gpu.full_at = full_at;
	gpu.lost_at = lost_at;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	frames.fd = pair[0];
	got.fd = pair[1];
	open_device(&device, &frames);
	CHECK(pm_device_start(&device, &error) == 0);
	CHECK(pthread_create(&collector, NULL, collect, NULL) == 0);
	CHECK(pthread_create(&device.decoder, NULL, pm_decode_thread, &device) == 0);
	CHECK(pthread_create(&device.evaluator, NULL, pm_evaluate_thread, &device) == 0);
	for (int i = 0; goes_on && i < 60; i++) {
		usleep(10000);
		pthread_mutex_lock(&device.lock);
		goes_on = !device.is_failed;
		pthread_mutex_unlock(&device.lock);
	}
	pm_device_ask_to_stop(&device);
	pthread_join(device.decoder, NULL);
	pthread_join(device.evaluator, NULL);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(collector, NULL);
	*stats = device.stats;
	stats->failure = device.is_failed ? device.failure_result : 0;
#ifdef PLANT_LOSS
	got.samples--;
#endif
	CHECK(gpu.dirty == 0);
	CHECK(stats->samples == got.samples && stats->missing == got.lost);
	pm_device_close(&device);
	close(pair[0]);
	close(pair[1]);
}

static void all_of_them(void)
{
	struct etl_sampling stats;

	run(SAMPLES, 0, 0, 0, &stats);
	CHECK(gpu.made == SAMPLES && got.samples == SAMPLES - 1); /* the first has no start */
	CHECK(got.lost == 0 && stats.failure == 0 && stats.restarts == 0 && gpu.stops == 1);
}

static void after_an_overflow(void)
{
	struct etl_sampling stats;

	run(SAMPLES, 3, 0, 0, &stats);
	CHECK(stats.restarts == 1 && gpu.starts == 2);
	/* 50 were lost, and the first after the restart has no start. */
	CHECK(got.losses[ETL_GAP_OVERFLOW] == 1 && got.lost == 51);
	CHECK(got.samples == SAMPLES - 2);
}

static void after_a_full_image(void)
{
	struct etl_sampling stats;

	run(SAMPLES, 0, 2, 0, &stats);
	CHECK(got.losses[ETL_GAP_FULL] == 1 && got.lost == 101 && stats.restarts == 1);
	CHECK(got.samples == SAMPLES - 2);
}

static void at_the_very_end(void)
{
	struct etl_sampling stats;

	/* All that there was came before, and so nobody can say how much is missing of what
	 * the clock says went by. */
	run(3 * 700, 3, 0, 0, &stats);
	CHECK(stats.restarts == 1 && got.samples == 3 * 700 - 1);
	CHECK(got.losses[ETL_GAP_OVERFLOW] == 1 && got.lost > 0);
}

static void of_a_lost_gpu(void)
{
	struct etl_sampling stats;

	run(SAMPLES, 0, 0, 4, &stats);
	CHECK(stats.failure == PM_UNKNOWN && got.losses[ETL_GAP_FAILED] == 1);
	CHECK(got.samples == 3 * 700 - 1);
}

int main(void)
{
	all_of_them();
	after_an_overflow();
	after_a_full_image();
	at_the_very_end();
	of_a_lost_gpu();
	return 0;
}

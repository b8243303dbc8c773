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
#include "pm/evaluate.h"
#include "pm/reader.h"
#include "sampled_gpu.h"

/* The last two columns are made of the metrics. */
enum { METRICS = 3, COLUMNS = 5, SAMPLES = 6000 };

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

	CHECK(frame->bytes == frame->rows * 8 * (2 + COLUMNS));
	for (size_t i = 0; i < frame->rows; i++) {
		const double *row = values + i;
		size_t rows = frame->rows;

		CHECK(row[3 * rows] == 25 * (row[0] / row[2 * rows]));
		CHECK(row[4 * rows] == 1e9 * (row[rows] / INTERVAL));
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
	static uint8_t body[ROWS_A_FRAME * 8 * (2 + COLUMNS)] __attribute__((aligned(8)));
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
	static const struct etl_sampled_column columns[COLUMNS] = {
		{ 0, ETL_BY_NOTHING, 1 }, { 1, ETL_BY_NOTHING, 1 }, { 2, ETL_BY_NOTHING, 1 },
		{ 0, 2, 25 }, { 1, ETL_BY_TIME, 1e9 },
	};
	struct etl_sampling_request ask = { .metrics = metrics, .is_optional = is_optional,
		.is_kept = is_kept, .metric_count = METRICS, .columns = columns,
		.column_count = COLUMNS, .interval_ns = INTERVAL };
	struct etl_error error;

	CHECK(pm_device_open(device, &api, &ask, &error) == 0);
	device->frames = frames;
}

/* Samples until the GPU has no more, or is lost. */
static bool is_stubborn, dries_up, writes_far;

static void run(uint64_t limit, unsigned overflow_at, unsigned full_at, unsigned lost_at,
		struct etl_sampling *stats)
{
	struct frames frames;
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
	gpu.is_stubborn = is_stubborn;
	gpu.dries_up = dries_up;
	gpu.writes_far = writes_far;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	frames_init(&frames, 1 << 20);
	frames.fd = pair[0];
	got.fd = pair[1];
	open_device(&device, &frames);
	CHECK(pm_device_start(&device, &error) == 0);
	CHECK(pthread_create(&collector, NULL, collect, NULL) == 0);
	CHECK(pthread_create(&device.decoder, NULL, pm_decode_thread, &device) == 0);
	CHECK(pthread_create(&device.evaluator, NULL, pm_evaluate_thread, &device) == 0);
	for (int i = 0; goes_on && i < 80; i++) {
		usleep(10000);
		pthread_mutex_lock(&device.lock);
		goes_on = !device.is_failed;
		pthread_mutex_unlock(&device.lock);
	}
	pm_device_ask_to_stop(&device);
	pthread_join(device.decoder, NULL);
	pthread_join(device.evaluator, NULL);
	frames_finish(&frames);
	frames_free(&frames);
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

/* Images are restored whole where CUPTI writes to slots that it does not fill. */
static void with_another_layout(void)
{
	struct etl_sampling stats;

	writes_far = true;
	run(SAMPLES, 0, 0, 0, &stats);
	writes_far = false;
	CHECK(got.samples == SAMPLES - 1 && got.lost == 0);
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

static void from_the_ground_up(void)
{
	is_stubborn = true;
	after_an_overflow();
	CHECK(gpu.enables == 2);
	is_stubborn = false;
}

static void after_a_full_image(void)
{
	struct etl_sampling stats;

	run(SAMPLES, 0, 2, 0, &stats);
	CHECK(got.losses[ETL_GAP_FULL] == 1 && got.lost == 100 && stats.restarts == 0);
	CHECK(got.samples == SAMPLES - 1);
}

static void that_dries_it_up(void)
{
	struct etl_sampling stats;

	dries_up = true;
	run(SAMPLES, 0, 2, 0, &stats);
	dries_up = false;
	/* A decode of 700 without times showed it; the first after the restart has no start. */
	CHECK(got.losses[ETL_GAP_FULL] == 1 && got.lost == 801 && stats.restarts == 1);
	CHECK(stats.dropped >= 700 && got.samples == SAMPLES - 702);
}

/* A collector that reads nothing for a while holds nobody up, and gets everything. */
static void with_a_busy_collector(void)
{
	struct frames frames;
	uint64_t word = 0;
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	frames_init(&frames, 16 << 20);
	frames.fd = pair[0];
	for (; word < 1 << 17; word++)
		frames_send(&frames, ETL_FRAME_TEXT, 0, word,
			    &(struct frame_piece){ &word, sizeof word }, 1);
	CHECK(frames.waiting > 4 << 20 && frames_push(&frames));
	for (uint64_t i = 0; i < word; i++) {
		struct etl_frame frame;
		uint64_t body;

		CHECK(recv(pair[1], &frame, sizeof frame, MSG_WAITALL) == sizeof frame);
		CHECK(recv(pair[1], &body, sizeof body, MSG_WAITALL) == sizeof body);
		CHECK(frame.rows == i && body == i);
		frames_push(&frames);
	}
	CHECK(frames.waiting == 0);
	close(pair[1]);
	frames_send(&frames, ETL_FRAME_TEXT, 0, 0, &(struct frame_piece){ &word, 8 }, 1);
	CHECK(frames.is_gone && !frames.first);
	frames_free(&frames);
	close(pair[0]);
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
	with_another_layout();
	after_an_overflow();
	from_the_ground_up();
	after_a_full_image();
	that_dries_it_up();
	with_a_busy_collector();
	at_the_very_end();
	of_a_lost_gpu();
	return 0;
}

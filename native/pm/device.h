/* One GPU that is sampled: what CUPTI needs for it, and the images that samples are decoded to.
 *
 * The decoding thread alone calls CUPTI with the sampling object; the evaluating thread calls
 * the profiler host alone.  Images go from one to the other and back. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "pm/frames.h"
#include "pm/pm_api.h"

/* Decoded together, about: enough that a decode is worth its call, few enough to be soon seen;
 * and as many as come while a busy machine gives the thread no core. */
enum { SAMPLES_A_DECODE = 500, SHORTEST_PERIOD_NS = 20000000, LONGEST_PERIOD_NS = 100000000 };
/* An image holds so many times what is expected between two decodes. */
enum { ROOM = 3 };
/* Some are large, for when decoding was held up: two, so that one is filled while the other is
 * evaluated, or decoding would never catch up. */
enum { IMAGES = 5, LARGE_IMAGES = 2 };
enum { CHECKS = 16 }; /* that a decode writes to the slots that it fills, and no further */
enum { ROWS_A_FRAME = 2048 };

/* A size of counter data, as CUPTI initialised it. */
struct pattern {
	uint8_t *bytes;
	size_t size;
	uint32_t slots;
};

/* Counter data, and which of its samples are kept. */
struct image {
	struct image *next;
	const struct pattern *pattern;
	uint8_t *bytes;
	size_t used; /* slots that CUPTI may have written to */
	size_t count; /* samples that are kept: */
	uint32_t *index; /* in the image */
	int64_t *start_ns;
	int64_t *end_ns;
};

struct image_queue {
	struct image *first, **last;
};

struct pm_device {
	const struct pm_api *api;
	struct frames *frames;
	uint32_t number; /* of the frames */
	uint64_t interval_ns;
	bool is_by_cycles;
	bool is_draining_only;

	char **metrics;
	size_t metric_count;
	struct etl_sampled_column *columns;
	size_t column_count;
	struct pm_host *host;
	struct etl_bytes config;
	size_t hardware_bytes;
	size_t index; /* CUPTI's number of the device */
	void *object; /* CUPTI's, while sampling is enabled */

	struct pattern normal, large;
	size_t slot_bytes; /* of an image; 0: what CUPTI writes to is not known */
	int checks; /* of that, still to make */
	struct image images[IMAGES];
	pthread_mutex_t lock; /* of all that follows, down to the line */
	pthread_cond_t changed;
	struct image_queue free, decoded;
	bool is_decoded; /* nothing more will come */
	bool is_stopping; /* whoever wanted samples has enough */
	bool is_failed;
	/* ---- */
	struct etl_error failure; /* written by the thread that fails first */
	int failure_result;
	struct etl_sampling stats; /* each member is written by one thread */

	pthread_t decoder, evaluator;
	/* Of the decoding thread. */
	int64_t last_end_ns; /* up to here there are samples, or losses were told */
	uint32_t gap_cause; /* of what is missing since then: ETL_GAP_*; 0: nothing is known to be */
	int64_t decoded_ns; /* CLOCK_MONOTONIC at the last decode, or the start */
	int64_t started_ns; /* CLOCK_REALTIME */
	bool was_full; /* the image of the last decode */
	bool is_stopped;
};

/* Opens the device: counters, configuration, images.  Returns 0, -errno or CUPTI's result. */
ETL_MUST_CHECK int pm_device_open(struct pm_device *device, const struct pm_api *api,
				  const struct etl_sampling_request *ask,
				  struct etl_error *error);
void pm_device_close(struct pm_device *device);

ETL_MUST_CHECK int pm_device_start(struct pm_device *device, struct etl_error *error);
/* After the hardware's buffer ran over nothing more comes until this. */
ETL_MUST_CHECK int pm_device_restart(struct pm_device *device, struct etl_error *error);
void pm_device_stop(struct pm_device *device);

void pm_device_ask_to_stop(struct pm_device *device);
/* Notes why sampling this device ends early; the first reason stays. */
void pm_device_failed(struct pm_device *device, int result, const struct etl_error *error);

/* Queues of images; the device's lock is held. */
void image_push(struct image_queue *queue, struct image *image);
struct image *image_pop(struct image_queue *queue);

/* Samples that are expected between two decodes, if there is no upper limit to the period. */
uint32_t pm_samples_a_decode(const struct pm_device *device);

/* The evaluating thread: values of decoded samples, in columns, to the collector. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "etl/clock.h"
#include "pm/device.h"
#include "pm/evaluate.h"

/* Columns of one frame. */
struct columns {
	double *values; /* of metrics: metric_count times ROWS_A_FRAME */
	double *derived; /* column_count times as many */
	double **at;
	struct frame_piece *pieces;
};

static int make_columns(struct columns *columns, size_t metrics, size_t n)
{
	columns->values = calloc(metrics * ROWS_A_FRAME, sizeof *columns->values);
	columns->derived = calloc(n * ROWS_A_FRAME, sizeof *columns->derived);
	columns->at = calloc(metrics, sizeof *columns->at);
	columns->pieces = calloc(n + 2, sizeof *columns->pieces);
	return columns->values && columns->derived && columns->at && columns->pieces ? 0 : -ENOMEM;
}

static void free_columns(struct columns *columns)
{
	free(columns->values);
	free(columns->derived);
	free(columns->at);
	free(columns->pieces);
}

/* A part of the whole; of nothing, as when a clock stood still, nothing. */
static double ratio(double part, double whole)
{
	return part == 0 && whole == 0 ? 0 : part / whole;
}

/* The values of a column: those of its metric as they are, or what is made of them. */
static const double *derive(const struct etl_sampled_column *column, const struct image *image,
			    size_t first, size_t rows, const double *values, double *out)
{
	const double *parts = values + column->numerator * ROWS_A_FRAME;

	if (column->denominator == ETL_BY_NOTHING && column->factor == 1)
		return parts;
	for (size_t i = 0; i < rows; i++) {
		double whole = 1;

		if (column->denominator == ETL_BY_TIME)
			whole = (double)(image->end_ns[first + i] - image->start_ns[first + i]);
		else if (column->denominator >= 0)
			whole = values[(size_t)column->denominator * ROWS_A_FRAME + i];
		out[i] = column->factor * ratio(parts[i], whole);
	}
	return out;
}

/* Samples that follow each other in the image, from `first` on, at most `most`. */
static size_t run_length(const struct image *image, size_t first, size_t most)
{
	size_t length = 1;

	while (length < most && image->index[first + length] == image->index[first] + length)
		length++;
	return length;
}

static int evaluate_rows(struct pm_device *device, const struct image *image, size_t first,
			 size_t rows, struct columns *columns, struct etl_error *error)
{
	int result = 0;

	for (size_t done = 0, run; done < rows && result == 0; done += run) {
		run = run_length(image, first + done, rows - done);
		for (size_t m = 0; m < device->metric_count; m++)
			columns->at[m] = columns->values + m * ROWS_A_FRAME + done;
		result = etl_host_evaluate(device->host, image->bytes, image->pattern->size,
					   image->index[first + done], run,
					   (const char *const *)device->metrics,
					   device->metric_count, columns->at, error);
	}
	return result;
}

static void send_rows(struct pm_device *device, const struct image *image, size_t first,
		      size_t rows, struct columns *columns)
{
	columns->pieces[0] = (struct frame_piece){ image->start_ns + first, rows * 8 };
	columns->pieces[1] = (struct frame_piece){ image->end_ns + first, rows * 8 };
	for (size_t c = 0; c < device->column_count; c++)
		columns->pieces[c + 2] = (struct frame_piece){
			derive(&device->columns[c], image, first, rows, columns->values,
			       columns->derived + c * ROWS_A_FRAME),
			rows * sizeof(double) };
	frames_send(device->frames, ETL_FRAME_SAMPLES, device->number, rows, columns->pieces,
		    device->column_count + 2);
	device->stats.samples += rows;
}

static int evaluate(struct pm_device *device, const struct image *image, struct columns *columns,
		    struct etl_error *error)
{
	int result = 0;

	if (device->is_draining_only) {
		device->stats.samples += image->count;
		return 0;
	}
	for (size_t first = 0, rows; first < image->count && result == 0; first += rows) {
		rows = image->count - first < ROWS_A_FRAME ? image->count - first : ROWS_A_FRAME;
		result = evaluate_rows(device, image, first, rows, columns, error);
		if (result == 0)
			send_rows(device, image, first, rows, columns);
	}
	return result;
}

/* Makes an image as it was at first.  CUPTI lays out the slots one after the other, behind what
 * belongs to all, so that those that were not used need not be restored: three quarters of the
 * bytes.  CUPTI does not say so, and so it is looked after. */
static void restore(struct pm_device *device, struct image *image)
{
	const struct pattern *pattern = image->pattern;
	size_t unused = image->used < pattern->slots ? pattern->slots - image->used : 0;
	size_t written = pattern->size - unused * device->slot_bytes;

	memcpy(image->bytes, pattern->bytes, written);
	if (device->checks > 0 && written < pattern->size) {
		device->checks--;
		if (memcmp(image->bytes + written, pattern->bytes + written,
			   pattern->size - written) != 0) {
			device->slot_bytes = 0;
			memcpy(image->bytes, pattern->bytes, pattern->size);
		}
	}
}

static struct image *next_decoded(struct pm_device *device)
{
	struct image *image;

	pthread_mutex_lock(&device->lock);
	while (!(image = image_pop(&device->decoded)) && !device->is_decoded)
		pthread_cond_wait(&device->changed, &device->lock);
	pthread_mutex_unlock(&device->lock);
	return image;
}

void *pm_evaluate_thread(void *argument)
{
	struct pm_device *device = argument;
	struct columns columns = { 0 };
	struct etl_error error = { "" };
	struct image *image;
	int result = make_columns(&columns, device->metric_count, device->column_count);

	if (result)
		pm_device_failed(device, etl_fail(&error, ENOMEM, "no memory for samples"), &error);
	/* After a failure the images still come, until the decoding thread has ended. */
	while ((image = next_decoded(device))) {
		if (result == 0)
			result = evaluate(device, image, &columns, &error);
		if (result)
			pm_device_failed(device, result, &error);
		restore(device, image);
		device->stats.evaluate_ns = (uint64_t)etl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		pthread_mutex_lock(&device->lock);
		image_push(&device->free, image);
		pthread_cond_broadcast(&device->changed);
		pthread_mutex_unlock(&device->lock);
	}
	free_columns(&columns);
	return NULL;
}

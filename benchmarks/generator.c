/* A traced program at almost no cost: fills slots of a real segment from one prepared slot,
 * with times and ids moved on, through the injector's own segment and handshake.
 *
 *	generator STRINGS RECORDS RATE SECONDS BATCH
 *
 * RATE is in records a second; 0 is as fast as slots become free, nothing being lost then.
 * BATCH records are published at a time, 0: as many as RECORDS has.  Prints
 * "records lost seconds". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "etl/locks.h"
#include "etl/segment.h"
#include "generated/env.h"
#include "etl/clock.h"
#include "inject/environment.h"
#include "inject/handshake.h"
#include "inject/injector.h"
#include "inject/wakeup.h"

#define MAX_RECORDS (ETL_LARGE_BYTES / 8)

struct image {
	uint8_t *bytes;
	size_t size, count;
	uint32_t at[MAX_RECORDS + 1], kind[MAX_RECORDS];
};

/* What has to move on from slot to slot: where it is in the records of a kind. */
struct moving {
	uint16_t offset;
	uint8_t width;
	bool is_time;
};

static struct moving moving[ETL_MAX_KIND][8];
static unsigned n_moving[ETL_MAX_KIND];

static void fail(const char *what)
{
	fprintf(stderr, "generator: %s\n", what);
	exit(1);
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(ETL_LARGE_BYTES);

	if (!file || !bytes)
		fail(path);
	*size = fread(bytes, 1, ETL_LARGE_BYTES, file);
	fclose(file);
	return bytes;
}

/* "kind stride" pairs of 32 bits up to a pair of zeros, then the records. */
static void read_image(const char *path, struct image *image, struct etl_segment *segment)
{
	uint32_t pair[2];
	size_t at = 0;

	image->bytes = read_file(path, &image->size);
	for (;; at += sizeof pair) {
		memcpy(pair, image->bytes + at, sizeof pair);
		if (!pair[0])
			break;
		etl_segment_set_stride(segment, pair[0], pair[1]);
	}
	at += sizeof pair;
	image->size -= at;
	memmove(image->bytes, image->bytes + at, image->size);
	for (at = 0; at < image->size; at += segment->stride[image->kind[image->count++]]) {
		memcpy(&image->kind[image->count], image->bytes + at, 4);
		image->at[image->count] = (uint32_t)at;
	}
	image->at[image->count] = (uint32_t)at;
}

static void find_moving(const struct etl_segment *segment)
{
	static const char *const names[] = { "start_ns", "end_ns", "correlation_id", "grid_id" };

	for (uint32_t kind = 0; kind < ETL_MAX_KIND; kind++) {
		int table = etl_table_of(kind);

		for (uint32_t c = 0; table >= 0 && c < etl_kinds[table].n_columns; c++)
			for (int i = 0; i < 4; i++) {
				const struct etl_layout *layout = &segment->layouts[table];

				if (layout->width[c] &&
				    strcmp(etl_kinds[table].columns[c].name, names[i]) == 0)
					moving[kind][n_moving[kind]++] = (struct moving){
						layout->offset[c], layout->width[c], i < 2
					};
			}
	}
}

static void move(uint8_t *record, uint32_t kind, uint64_t ids, int64_t nanoseconds)
{
	for (unsigned i = 0; i < n_moving[kind]; i++) {
		const struct moving *m = &moving[kind][i];
		uint64_t value = 0;

		memcpy(&value, record + m->offset, m->width);
		value += m->is_time ? (uint64_t)nanoseconds : ids;
		memcpy(record + m->offset, &value, m->width);
	}
}

/* The latest time in some of the records. */
static int64_t latest(const struct image *image, size_t first, size_t end)
{
	int64_t most = 0, value;

	for (size_t i = first; i < end; i++)
		for (unsigned j = 0; j < n_moving[image->kind[i]]; j++) {
			const struct moving *m = &moving[image->kind[i]][j];

			if (!m->is_time)
				continue;
			memcpy(&value, image->bytes + image->at[i] + m->offset, sizeof value);
			most = value > most ? value : most;
		}
	return most;
}

static int64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void sleep_until(int64_t when)
{
	struct timespec t = { when / 1000000000, when % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int64_t take(struct etl_map *map, bool wait)
{
	int64_t slot;

	while ((slot = etl_slot_take(map, true)) < 0 && (etl_segment_grow(map) || wait))
		usleep(100);
	return slot;
}

int main(int argc, char **argv)
{
	static struct image image;
	struct etl_map *map = &etl_injector.map;
	struct etl_error error;
	uint64_t records = 0, lost = 0, ids = 0;
	int64_t begin, slot;
	double rate, seconds;
	size_t size, first = 0, batch;
	uint8_t *strings;
	int fd;

	if (argc != 6)
		fail("usage: generator STRINGS RECORDS RATE SECONDS BATCH");
	rate = atof(argv[3]);
	seconds = atof(argv[4]);
	batch = (size_t)atol(argv[5]);
	if (etl_segment_create((uint32_t)etl_env_number(ETL_ENV_RING_MB, 256, 32, 4096) / 32, map,
			       &fd, &error) < 0)
		fail(error.message);
	etl_describe_process(map->segment);
	map->segment->cupti_version = 130001;
	read_image(argv[2], &image, map->segment);
	find_moving(map->segment);
	if (batch == 0 || batch > image.count)
		batch = image.count;
	etl_injector.pid = getpid();
	etl_injector.wakeup = etl_wakeup_map();
	etl_store(&map->segment->state, ETL_TRACING);
	etl_lock_image(fd);
	if (etl_hello(fd, NULL) < 0)
		fail("no collector");
	strings = read_file(argv[1], &size);
	slot = take(map, true);
	memcpy(etl_slot_data(map, (uint64_t)slot), strings, size);
	etl_slot_publish(map, (uint64_t)slot, ETL_STRINGS, (uint32_t)size);
	/* A CUDA program, too, takes about so long from its greeting to its first kernel. */
	begin = monotonic() + 1000000000;
	sleep_until(begin);
	while ((double)(monotonic() - begin) < seconds * 1e9) {
		size_t end = first + batch > image.count ? image.count : first + batch;
		uint32_t bytes = image.at[end] - image.at[first];
		int64_t now, last = latest(&image, first, end);
		uint8_t *data;

		if (rate > 0)
			sleep_until(begin + (int64_t)((double)(records + end - first) / rate * 1e9));
		records += end - first;
		etl_add(&map->segment->counters.handed_over, end - first);
		slot = take(map, rate == 0);
		if (slot < 0) {
			lost += end - first;
			for (size_t i = first; i < end; i++)
				etl_add(&map->segment->counters.ring_full[image.kind[i]], 1);
		} else {
			data = etl_slot_data(map, (uint64_t)slot);
			memcpy(data, image.bytes + image.at[first], bytes);
			now = etl_now_ns();
			for (size_t i = first; i < end; i++)
				move(data + image.at[i] - image.at[first], image.kind[i], ids,
				     now - last);
			etl_slot_publish(map, (uint64_t)slot, ETL_RECORDS, bytes);
			etl_put(&map->segment->last_flush_ns, (uint64_t)now);
			etl_put(&map->segment->last_return_ns, (uint64_t)now);
			etl_wakeup_send();
		}
		first = end == image.count ? 0 : end;
		ids += first ? 0 : image.count;
	}
	printf("%llu %llu %.3f\n", (unsigned long long)records, (unsigned long long)lost,
	       (double)(monotonic() - begin) / 1e9);
	etl_put(&map->segment->finished_ns, (uint64_t)etl_now_ns());
	etl_store(&map->segment->state, ETL_FINISHED);
	etl_wakeup_send();
	return 0;
}

/* All devices that are sampled: opened one by one, run together, stopped by the collector. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "etl/clock.h"
#include "etl/libcupti.h"
#include "pm/device.h"
#include "pm/evaluate.h"
#include "pm/reader.h"

enum { MOST_DEVICES = 64, END_SECONDS = 5 };
/* Of values: minutes of a GPU.  What waits is looked after so often. */
enum { MOST_WAITING_BYTES = 256 << 20, PUSH_MS = 20, LISTEN_MS = 100 };

struct cuda {
	int (*get_count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*get_name)(char *name, int length, int device);
	int (*get_uuid)(void *uuid, int device);
};

struct etl_sampler {
	struct pm_api api;
	struct cuda cuda;
	struct frames frames;
	struct pm_device *devices[MOST_DEVICES];
	bool is_running[MOST_DEVICES];
	uint32_t count;
	int gpus;
};

/* libcupti alone would only say that something is wrong. */
static int find_driver(void **driver, struct etl_error *error)
{
	*driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (*driver)
		return 0;
	return etl_fail(error, ENODEV, "there is no NVIDIA driver here (%s)", dlerror());
}

/* libcupti has initialised the driver. */
static int find_cuda(struct etl_sampler *sampler, void *driver, struct etl_error *error)
{
	static const struct etl_symbol symbols[] = {
		ETL_REQUIRED(cuda, get_count, "cuDeviceGetCount"),
		ETL_REQUIRED(cuda, get, "cuDeviceGet"),
		ETL_REQUIRED(cuda, get_name, "cuDeviceGetName"),
		/* The newer gives a part of a GPU (MIG) its own UUID; one of them is enough. */
		ETL_OPTIONAL(cuda, get_uuid, "cuDeviceGetUuid"),
		ETL_OPTIONAL(cuda, get_uuid, "cuDeviceGetUuid_v2"),
	};
	const char *missing = etl_resolve(driver, symbols, sizeof symbols / sizeof symbols[0],
					  &sampler->cuda);

	if (!missing && !sampler->cuda.get_uuid)
		missing = "cuDeviceGetUuid";
	if (missing)
		return etl_fail(error, ENODEV, "libcuda.so.1 has no function %s", missing);
	if (sampler->cuda.get_count(&sampler->gpus) || sampler->gpus < 1)
		return etl_fail(error, ENODEV, "CUDA shows no GPU");
	return 0;
}

int etl_sampler_new(const char *places, struct etl_sampler **out, struct etl_error *error)
{
	struct etl_sampler *sampler = calloc(1, sizeof *sampler);
	void *driver;
	int result;

	*out = NULL;
	if (!sampler)
		return -ENOMEM;
	frames_init(&sampler->frames, MOST_WAITING_BYTES);
	result = find_driver(&driver, error);
	if (result == 0)
		result = pm_api_load(&sampler->api, places, error);
	if (result == 0)
		result = find_cuda(sampler, driver, error);
	if (result) {
		etl_sampler_free(sampler);
		return result;
	}
	*out = sampler;
	return 0;
}

void etl_sampler_free(struct etl_sampler *sampler)
{
	if (!sampler)
		return;
	for (uint32_t i = 0; i < sampler->count; i++) {
		pm_device_close(sampler->devices[i]);
		free(sampler->devices[i]);
	}
	pm_api_close(&sampler->api);
	frames_free(&sampler->frames);
	free(sampler);
}

uint32_t etl_sampler_cupti(const struct etl_sampler *sampler)
{
	return sampler->api.version;
}

const char *etl_sampler_cupti_path(const struct etl_sampler *sampler)
{
	return sampler->api.path;
}

int etl_sampler_gpus(const struct etl_sampler *sampler)
{
	return sampler->gpus;
}

/* As nvidia-smi prints it. */
static void print_uuid(char *out, const uint8_t uuid[16])
{
	static const char dash_before[16] = { [4] = 1, [6] = 1, [8] = 1, [10] = 1 };
	char *at = out + sprintf(out, "GPU-");

	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%s%02x", dash_before[i] ? "-" : "", uuid[i]);
}

int etl_sampler_gpu(struct etl_sampler *sampler, int index, struct etl_gpu *out,
		    struct etl_error *error)
{
	uint8_t uuid[16] = { 0 };
	int device, result;

	memset(out, 0, sizeof *out);
	if (sampler->cuda.get(&device, index) || sampler->cuda.get_uuid(uuid, device) ||
	    sampler->cuda.get_name(out->name, sizeof out->name - 1, device))
		result = etl_fail(error, ENODEV, "CUDA does not tell about device %d", index);
	else
		result = etl_cupti_device_chip(&sampler->api, (size_t)index, out->chip, sizeof out->chip,
					error);
	print_uuid(out->uuid, uuid);
	return result;
}

int etl_sampler_add(struct etl_sampler *sampler, const struct etl_sampling_request *ask,
		    struct etl_error *error)
{
	struct pm_device *device = calloc(1, sizeof *device);
	int result;

	if (!device || sampler->count == MOST_DEVICES)
		result = etl_fail(error, ENOMEM, "no room for device %u", sampler->count);
	else
		result = pm_device_open(device, &sampler->api, ask, error);
	if (result) {
		free(device);
		return result;
	}
	device->frames = &sampler->frames;
	device->number = sampler->count;
	sampler->devices[sampler->count++] = device;
	return 0;
}

int etl_sampler_start(struct etl_sampler *sampler, int number, struct etl_error *error)
{
	struct pm_device *device = sampler->devices[number];
	int result = pm_device_start(device, error);

	if (result)
		pm_device_failed(device, result, error);
	return result;
}

void etl_sampler_say(struct etl_sampler *sampler, int fd, const char *text)
{
	sampler->frames.fd = fd;
	frames_send(&sampler->frames, ETL_FRAME_TEXT, 0, 0,
		    &(struct frame_piece){ text, strlen(text) }, 1);
	frames_finish(&sampler->frames);
}

static int run_device(struct etl_sampler *sampler, uint32_t number)
{
	struct pm_device *device = sampler->devices[number];

	if (device->is_failed)
		return 0;
	if (pthread_create(&device->decoder, NULL, pm_decode_thread, device))
		return -EAGAIN;
	if (pthread_create(&device->evaluator, NULL, pm_evaluate_thread, device)) {
		pm_device_failed(device, -EAGAIN, &(struct etl_error){ "no more threads" });
		pthread_join(device->decoder, NULL);
		return -EAGAIN;
	}
	sampler->is_running[number] = true;
	return 0;
}

/* Whether a device is still being sampled. */
static bool goes_on(struct etl_sampler *sampler)
{
	bool any = false;

	for (uint32_t i = 0; i < sampler->count; i++) {
		struct pm_device *device = sampler->devices[i];

		pthread_mutex_lock(&device->lock);
		any = any || (sampler->is_running[i] && !device->is_failed);
		pthread_mutex_unlock(&device->lock);
	}
	return any;
}

/* Until the other end has closed its side, or is gone; sends what waits meanwhile. */
static void wait_for_end(struct etl_sampler *sampler, int fd)
{
	while (goes_on(sampler)) {
		bool more = frames_push(&sampler->frames);
		struct pollfd ear = { .fd = fd, .events = POLLIN };
		ssize_t count;
		char byte;

		if (poll(&ear, 1, more ? PUSH_MS : LISTEN_MS) <= 0)
			continue;
		count = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
			return;
	}
}

/* Joins a thread, and sends what waits meanwhile: it may stand behind that. */
static int join_by(struct etl_sampler *sampler, pthread_t thread, int64_t until_ns)
{
	for (;;) {
		int64_t now_ns = etl_clock_ns(CLOCK_REALTIME);
		int64_t next_ns = now_ns + PUSH_MS * INT64_C(1000000);
		struct timespec next = { next_ns / 1000000000, next_ns % 1000000000 };

		frames_push(&sampler->frames);
		if (pthread_timedjoin_np(thread, NULL, &next) == 0)
			return 0;
		if (now_ns > until_ns)
			return -ETIMEDOUT;
	}
}

int etl_sampler_run(struct etl_sampler *sampler, int fd)
{
	int64_t until_ns;
	int result = 0;

	sampler->frames.fd = fd;
	for (uint32_t i = 0; i < sampler->count; i++)
		if (run_device(sampler, i))
			result = -EAGAIN;
	wait_for_end(sampler, fd);
	for (uint32_t i = 0; i < sampler->count; i++)
		pm_device_ask_to_stop(sampler->devices[i]);
	until_ns = etl_clock_ns(CLOCK_REALTIME) + END_SECONDS * INT64_C(1000000000);
	for (uint32_t i = 0; i < sampler->count; i++) {
		struct pm_device *device = sampler->devices[i];

		if (!sampler->is_running[i])
			continue;
		if (join_by(sampler, device->decoder, until_ns) ||
		    join_by(sampler, device->evaluator, until_ns))
			return -ETIMEDOUT;
		sampler->is_running[i] = false;
	}
	frames_finish(&sampler->frames);
	return result;
}

void etl_sampler_get(const struct etl_sampler *sampler, int number, struct etl_sampling *out)
{
	const struct pm_device *device = sampler->devices[number];

	*out = device->stats;
	out->failure = device->is_failed ? device->failure_result : 0;
	snprintf(out->detail, sizeof out->detail, "%s",
		 device->is_failed ? device->failure.message : "");
}

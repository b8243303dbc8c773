/* A client of CUPTI that does nothing but switch records on and off, in one of several ways.
 *
 * Injected through CUDA_INJECTION64_PATH.  SWITCH_WAY says how:
 *
 *   whole     all is recorded
 *   closed    nothing is, ever
 *   callbacks likewise, but calls are called back
 *   thread    a thread of its own switches, whenever it is time
 *   entry     the program's threads do, at the entry of their calls
 *   return    likewise, when they return
 *   rare      as entry, but by calls that launch no single kernels
 *   armed     as entry, by callbacks that are on only when it is time: the same call is their last
 *   patient   likewise, but a thread of its own switches the callbacks on and off
 *   gpu       as entry, but of kernels, copies and sets alone: no calls are recorded
 *   gpu-rare  likewise, as rare
 *   calls     as entry, but calls are recorded all the time
 *   finalize  as armed, and between two windows CUPTI is taken down, at the return of a call
 *
 * SWITCH_ON_US and SWITCH_OFF_US say when (5000), SWITCH_CUPTI names the libcupti, and SWITCH_OUT a
 * file that holds the numbers of `struct counts` even if the program crashes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 20, MOST_BUFFERS = 1 << 14, MOST_PLACES = 256, DRIVER = 1, FORCED = 1 };
enum { KERNEL = 10, RUNTIME = 5, DRIVER_CALL = 4, ZEROED_OUT = 5, THREADS = 1 << 12, MOST_CBIDS = 1024 };

struct counts {
	_Atomic uint64_t switches, kernels, untimed, of_other_clock, refused;
	/* Launches of kernels in windows; kernels that have the correlation of the one before, as those
	 * of a graph do; and runtime calls: all of them, those without times, and those with the
	 * correlation of the one before on their thread. */
	_Atomic uint64_t launches, repeated, calls, untimed_calls, repeated_calls;
};

struct callback_data { /* the begin of CUpti_CallbackData */
	int site;
};

static int (*flush_all)(uint32_t), (*enable)(uint32_t), (*disable)(uint32_t);
static int (*next_record)(uint8_t *, size_t, uint8_t **), (*finalize)(void);
static int (*register_buffers)(void *, void *), (*subscribe)(void **, void *, void *);
static int (*enable_callback)(uint32_t, void *, uint32_t, uint32_t);
static int (*callback_name)(uint32_t, uint32_t, const char **);
static int (*set_attribute)(uint32_t, size_t *, void *);

/* As a capture has by default: what describes what lasts is always on. */
static const uint32_t kinds[] = { KERNEL, 1, 22, 2, 12, 13, RUNTIME, DRIVER_CALL };
static const uint32_t lasting[] = { 8, 9 };
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_CALLS = 2 }; /* calls are the last ones */
static const char *const place_names[] = { "cuLaunch", "cuGraphLaunch", "cuCtxSynchronize",
					   "cuStreamSynchronize", "cuEventSynchronize",
					   "cuMemcpy", "cuMemset" };

static struct counts *counts;
static const char *way;
static uint64_t begin_ns;
static useconds_t on_us, off_us;
static uint32_t places[MOST_PLACES];
static int n_places;
static int is_launch[MOST_CBIDS];
static void *subscriber;
static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *free_buffers[MOST_BUFFERS];
static int n_free;
/* Held by whoever switches; in a callback nobody waits for it. */
static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_wanted, is_on, is_armed, is_down;

static int is(const char *name)
{
	return strcmp(way, name) == 0;
}

/* Of several, with a space between. */
static int is_any(const char *names)
{
	const size_t length = strlen(way);

	for (const char *at = names; (at = strstr(at, way)) != NULL; at += length)
		if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return 1;
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	pthread_mutex_lock(&buffers_lock);
	*buffer = n_free ? free_buffers[--n_free] : NULL;
	pthread_mutex_unlock(&buffers_lock);
	if (!*buffer)
		*buffer = calloc(1, BYTES);
	*size = BYTES;
	*most = 0;
}

static uint32_t number_at(const uint8_t *record, int offset)
{
	uint32_t number;

	memcpy(&number, record + offset, sizeof number);
	return number;
}

static int has_times(const uint8_t *start)
{
	uint64_t times[2];

	memcpy(times, start, sizeof times);
	if (!times[0] || !times[1])
		return 0;
	if (times[0] < begin_ns || times[1] > now_ns() + 1000000000u || times[1] < times[0])
		counts->of_other_clock++;
	return 1;
}

/* Buffers come one at a time, so nothing here is shared. */
static void count(const uint8_t *record)
{
	static uint32_t last_kernel, last_calls[THREADS];
	const uint32_t kind = number_at(record, 0);

	if (kind == KERNEL) {
		const uint32_t correlation = number_at(record, 92);

		counts->kernels++;
		counts->untimed += !has_times(record + 16);
		counts->repeated += correlation == last_kernel;
		last_kernel = correlation;
	} else if (kind == RUNTIME) {
		uint32_t *last = &last_calls[number_at(record, 28) % THREADS];
		const uint32_t correlation = number_at(record, 32);

		counts->calls++;
		counts->untimed_calls += !has_times(record + 8);
		counts->repeated_calls += correlation == *last;
		*last = correlation;
	}
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *record = NULL;

	(void)context, (void)stream, (void)size;
	while (valid && next_record(buffer, valid, &record) == 0)
		count(record);
	memset(buffer, 0, valid);
	pthread_mutex_lock(&buffers_lock);
	free_buffers[n_free++] = buffer;
	pthread_mutex_unlock(&buffers_lock);
}

/* With `switching` held. */
static void switch_to(int on)
{
	const int n = is_any("gpu gpu-rare calls") ? N_KINDS - N_CALLS : N_KINDS;

	for (int i = 0; i < n; i++)
		counts->refused += (on ? enable : disable)(kinds[i]) != 0;
	atomic_store(&is_on, on);
	counts->switches++;
}

/* Likewise. */
static void arm(int on)
{
	for (int i = 0; i < n_places; i++)
		(void)enable_callback((uint32_t)on, subscriber, DRIVER, places[i]);
	atomic_store(&is_armed, on);
}

/* Takes CUPTI down, as its documentation wants it: when a call returns. */
static void take_down(void)
{
	flush_all(FORCED);
	counts->refused += finalize() != 0;
	atomic_store(&is_armed, 0);
	atomic_store(&is_down, 1);
}

static void called(void *unused, int domain, uint32_t cbid, const struct callback_data *data)
{
	int at_return = is("return"), wanted = atomic_load(&is_wanted);

	(void)unused, (void)domain;
	counts->launches += data->site == 0 && atomic_load(&is_on) && is_launch[cbid];
	if (pthread_mutex_trylock(&switching) != 0)
		return;
	if (is("finalize") && data->site == 1 && !wanted && !atomic_load(&is_on) &&
	    !atomic_load(&is_down)) {
		take_down();
	} else if (data->site == at_return && atomic_load(&is_on) != wanted && !atomic_load(&is_down)) {
		switch_to(wanted);
		if (is("armed") || (is("finalize") && wanted))
			arm(0);
	}
	pthread_mutex_unlock(&switching);
}

static void set_up(void)
{
	uint8_t one = 1;
	size_t size = 1;

	set_attribute(ZEROED_OUT, &size, &one);
	if (subscribe(&subscriber, (void *)called, NULL) != 0 ||
	    register_buffers((void *)requested, (void *)completed) != 0) {
		fprintf(stderr, "switching_client: CUPTI cannot be had\n");
		_exit(1);
	}
	for (unsigned i = 0; i < sizeof lasting / sizeof *lasting; i++)
		enable(lasting[i]);
	atomic_store(&is_down, 0);
}

/* Once the kinds are as they are wanted. */
static void disarm(void)
{
	while (atomic_load(&is_on) != atomic_load(&is_wanted))
		usleep(100);
	pthread_mutex_lock(&switching);
	arm(0);
	pthread_mutex_unlock(&switching);
}

static void *orders(void *unused)
{
	for (int on = 0;; on = !on) {
		usleep(on ? off_us : on_us);
		pthread_mutex_lock(&switching);
		if (on && atomic_load(&is_down))
			set_up();
		atomic_store(&is_wanted, on);
		if (is("thread"))
			switch_to(on);
		else if (is_any("armed finalize patient") && !atomic_load(&is_armed))
			arm(1);
		pthread_mutex_unlock(&switching);
		if (is("patient"))
			disarm();
	}
	return unused;
}

static void *flush(void *unused)
{
	for (;; usleep(100000)) {
		pthread_mutex_lock(&switching);
		if (!atomic_load(&is_down))
			flush_all(0);
		pthread_mutex_unlock(&switching);
	}
	return unused;
}

static void at_exit(void)
{
	if (!atomic_load(&is_down))
		flush_all(FORCED);
}

static void find_places(void)
{
	for (uint32_t cbid = 1; cbid < MOST_CBIDS; cbid++) {
		const char *name = NULL;

		if (callback_name(DRIVER, cbid, &name) != 0 || !name)
			continue;
		/* The first of them are those that launch kernels. */
		is_launch[cbid] = strncmp(name, "cuLaunchKernel", 14) == 0;
		for (unsigned i = is_any("rare gpu-rare") ? 1 : 0; i < sizeof place_names / sizeof *place_names; i++)
			if (strncmp(name, place_names[i], strlen(place_names[i])) == 0 &&
			    n_places < MOST_PLACES)
				places[n_places++] = cbid;
	}
}

static void map_counts(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof *counts) != 0 ||
	    (counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
		perror(path);
		_exit(1);
	}
	close(fd);
}

static useconds_t microseconds(const char *variable)
{
	const char *text = getenv(variable);

	return text ? (useconds_t)strtoul(text, NULL, 10) : 5000;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *path = getenv("SWITCH_CUPTI"), *out = getenv("SWITCH_OUT");
	void *cupti = dlopen(path && *path ? path : "libcupti.so.13", RTLD_NOW);
	const struct {
		void *function;
		const char *name;
	} functions[] = {
		{ &flush_all, "cuptiActivityFlushAll" },
		{ &enable, "cuptiActivityEnable" },
		{ &disable, "cuptiActivityDisable" },
		{ &next_record, "cuptiActivityGetNextRecord" },
		{ &finalize, "cuptiFinalize" },
		{ &register_buffers, "cuptiActivityRegisterCallbacks" },
		{ &subscribe, "cuptiSubscribe" },
		{ &enable_callback, "cuptiEnableCallback" },
		{ &callback_name, "cuptiGetCallbackName" },
		{ &set_attribute, "cuptiActivitySetAttribute" },
	};
	pthread_t thread;

	way = getenv("SWITCH_WAY");
	if (!cupti || !way || !out) {
		fprintf(stderr, "switching_client: %s\n", cupti ? "SWITCH_WAY and SWITCH_OUT" : dlerror());
		_exit(1);
	}
	for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
		*(void **)functions[i].function = dlsym(cupti, functions[i].name);
	on_us = microseconds("SWITCH_ON_US");
	off_us = microseconds("SWITCH_OFF_US");
	map_counts(out);
	begin_ns = now_ns();
	find_places();
	set_up();
	if (!is_any("closed callbacks")) {
		atomic_store(&is_wanted, 1);
		switch_to(1);
	}
	for (int i = N_KINDS - N_CALLS; i < N_KINDS && is("calls"); i++)
		enable(kinds[i]);
	if (is_any("callbacks entry return rare gpu gpu-rare calls"))
		arm(1);
	pthread_create(&thread, NULL, flush, NULL);
	if (!is_any("closed callbacks whole"))
		pthread_create(&thread, NULL, orders, NULL);
	atexit(at_exit);
	return 1;
}

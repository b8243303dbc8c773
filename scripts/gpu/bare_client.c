/* The least that a CUPTI client can do: ask for records, and throw them away.
 *
 * Injected through CUDA_INJECTION64_PATH, it asks for kernels, copies, sets and runtime calls,
 * as a capture does by default in a program without NVTX (but all calls, noise included); buffers are kept and zeroed, and a
 * thread flushes every 100 ms.  What a capture adds to this is our own price.  BARE_CUPTI names
 * the libcupti. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES (1 << 20)
#define BUFFERS 64

static int (*flush_all)(uint32_t flag);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *free_buffers[4096];
static int n_free;

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	pthread_mutex_lock(&lock);
	*buffer = n_free ? free_buffers[--n_free] : NULL;
	pthread_mutex_unlock(&lock);
	if (!*buffer)
		*buffer = calloc(1, BYTES);
	*size = BYTES;
	*most = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)size;
	memset(buffer, 0, valid);
	pthread_mutex_lock(&lock);
	free_buffers[n_free++] = buffer;
	pthread_mutex_unlock(&lock);
}

static void *flush(void *unused)
{
	for (;; usleep(100000))
		flush_all(0);
	return unused;
}

static void at_exit(void)
{
	flush_all(1);
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static const uint32_t kinds[] = { 10, 1, 2, 5 };
	const char *path = getenv("BARE_CUPTI");
	void *cupti = dlopen(path && *path ? path : "libcupti.so.13", RTLD_NOW);
	int (*enable)(uint32_t), (*attribute)(uint32_t, size_t *, void *);
	int (*callbacks)(void *, void *);
	uint8_t one = 1;
	size_t size = 1;
	pthread_t thread;

	if (!cupti) {
		fprintf(stderr, "bare_client: %s\n", dlerror());
		_exit(1);
	}
	*(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
	*(void **)&attribute = dlsym(cupti, "cuptiActivitySetAttribute");
	*(void **)&callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	*(void **)&flush_all = dlsym(cupti, "cuptiActivityFlushAll");
	for (int i = 0; i < BUFFERS; i++) {
		free_buffers[n_free] = malloc(BYTES);
		memset(free_buffers[n_free++], 0, BYTES);
	}
	attribute(5, &size, &one); /* buffers are zeroed by us */
	if (callbacks((void *)requested, (void *)completed) != 0)
		_exit(1);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (enable(kinds[i]) != 0)
			_exit(1);
	atexit(at_exit);
	return pthread_create(&thread, NULL, flush, NULL) == 0;
}

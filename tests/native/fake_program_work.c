/* The test program's CUDA work. */
#define _GNU_SOURCE
#include "fake_program.h"

#include "fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RT_GET_DEVICE = 17, RT_GET_LAST_ERROR = 10 };

static struct {
    int (*init)(unsigned int);
    int (*launch)(uint32_t, uint32_t, uint32_t);
    int (*copy)(uint32_t, uint64_t);
    int (*set)(uint32_t, uint64_t);
    int (*allocate)(uint64_t);
    int (*synchronize)(void);
    int (*call)(uint32_t, uint32_t);
    int (*play)(void);
    int (*profiler)(int);
} cuda;

static const struct settings *given;
static atomic_long launched;

static void *look_up(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "fake_program: no %s\n", name);
        exit(95);
    }
    return symbol;
}

static void open_driver(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (driver == NULL) {
        fprintf(stderr, "fake_program: %s\n", dlerror());
        exit(95);
    }
    *(void **)&cuda.init = look_up(driver, "cuInit");
    *(void **)&cuda.launch = look_up(driver, "fakeLaunch");
    *(void **)&cuda.copy = look_up(driver, "fakeMemcpy");
    *(void **)&cuda.set = look_up(driver, "fakeMemset");
    *(void **)&cuda.allocate = look_up(driver, "fakeMalloc");
    *(void **)&cuda.synchronize = look_up(driver, "fakeSynchronize");
    *(void **)&cuda.call = look_up(driver, "fakeCall");
    *(void **)&cuda.play = look_up(driver, "fakePlay");
    *(void **)&cuda.profiler = look_up(driver, "fakeProfiler");
}

int try_launch(void) {
    return cuda.launch != NULL ? cuda.launch(0, 0, 0) : 3;
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Sleep when more than a millisecond ahead of the rate that was asked for.  Time in which the
 * program got no processor is not made up for: it is never faster than that for long. */
static void pace(int64_t *began, long done) {
    int64_t ahead = *began + (int64_t)done * 1000000000 / given->rate - now_ns();
    if (ahead > 1000000)
        nanosleep(&(struct timespec){ahead / 1000000000, ahead % 1000000000}, NULL);
    else if (ahead < -20000000)
        *began -= ahead;
}

static bool every(long interval, long i) {
    return interval != 0 && i % interval == interval - 1;
}

static void step(long thread, long i) {
    uint32_t stream = (uint32_t)(thread * given->streams + i % given->streams);
    if (thread == 0 && given->profiler_every != 0 && i % given->profiler_every == 0)
        cuda.profiler(i / given->profiler_every % 2 == 0);
    ranges_before_launch(given, i);
    for (long n = 0; n < given->noise; n++)
        cuda.call(FAKE_API_RUNTIME, n % 2 ? RT_GET_LAST_ERROR : RT_GET_DEVICE);
    cuda.launch(stream, (uint32_t)(i % given->names), given->driver_api ? FAKE_FLAG_DRIVER : 0);
    if (every(given->copy_every, i))
        cuda.copy(stream, (uint64_t)i * 4096 + 1);
    if (every(given->set_every, i))
        cuda.set(stream, (uint64_t)i * 512 + 1);
    if (every(given->malloc_every, i))
        cuda.allocate((uint64_t)i + 1024);
    if (every(given->sync_every, i))
        cuda.synchronize();
    ranges_after_launch(given, i);
    if (given->takeover_at != 0)
        peer_after_launch(given, atomic_fetch_add(&launched, 1) + 1);
}

static void *work(void *argument) {
    long thread = (long)(intptr_t)argument;
    int64_t began = now_ns();
    for (long i = 0; i < given->launches; i++) {
        step(thread, i);
        if (given->rate != 0)
            pace(&began, i + 1);
    }
    return NULL;
}

void use_cuda(const struct settings *settings) {
    given = settings;
    open_driver();
    int result = cuda.init(0);
    if (result != 0) {
        fprintf(stderr, "fake_program: cuInit: %d\n", result);
        exit(96);
    }
    wait_for(settings->start_file);
    if (settings->init_only != 0)
        return;
    if (settings->play != 0)
        cuda.play();
    pthread_t threads[1024];
    long count = settings->threads < 1024 ? settings->threads : 1024;
    for (long i = 1; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
            exit(97);
    work((void *)0);
    for (long i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    if (settings->long_kernel != 0)
        cuda.launch(0, 0, FAKE_FLAG_ENDLESS);
}

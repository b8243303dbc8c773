/* The bell page in many hands: nobody sleeps through a ring.  Run under ThreadSanitizer too. */
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "decode/decode.h"
#include "inject/inject.h"
#include "../generated/env.h"

#define RINGERS 3
#define RINGS 3000
#define SLEEP_MS 4000

struct etl_injector etl_injector; /* bell.c is all that we take of the injector */
static _Atomic uint32_t posted;
static uint64_t payload[RINGERS];

static void *ring(void *argument)
{
	uintptr_t who = (uintptr_t)argument;

	for (int i = 0; i < RINGS; i++) {
		payload[who]++;
		etl_add(&posted, 1);
#ifndef PLANT_SILENCE
		etl_bell_ring();
#endif
		if (i % 100 == 0)
			usleep(100); /* so that the collector falls asleep */
	}
	return NULL;
}

int main(void)
{
	char path[64], message[ETL_MESSAGE_BYTES];
	pthread_t ringers[RINGERS];
	struct timespec begin, end;
	struct etl_bell *bell;
	struct stat file;

	bell = etl_bell_create(message);
	CHECK(bell);
	CHECK(snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), etl_bell_fd(bell)) > 0);
	CHECK(setenv(ETL_ENV_BELL, path, 1) == 0);
	/* A program that shortened it would kill all others. */
	CHECK(truncate(path, 0) < 0 && stat(path, &file) == 0 && file.st_size == ETL_BELL_BYTES);
	etl_injector.bell = etl_bell_map();
	CHECK(etl_injector.bell);

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (uintptr_t i = 0; i < RINGERS; i++)
		CHECK(pthread_create(&ringers[i], NULL, ring, (void *)i) == 0);
	for (;;) {
		uint32_t seen = etl_bell_value(bell);

		if (etl_load(&posted) == RINGERS * RINGS)
			break;
		etl_bell_wait(bell, seen, SLEEP_MS);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK(end.tv_sec - begin.tv_sec < SLEEP_MS / 1000);
	for (int i = 0; i < RINGERS; i++) {
		pthread_join(ringers[i], NULL);
		CHECK(payload[i] == RINGS);
	}

	etl_bell_pause(bell, 1);
	CHECK(etl_load(&etl_injector.bell->orders) == 1);
	CHECK(etl_peek(&etl_injector.bell->is_paused) == 1);
	etl_bell_free(bell);
	CHECK(access(path, F_OK) < 0);
	return 0;
}

/* The wakeup page in many hands: nobody sleeps through a wakeup.  Run under ThreadSanitizer too. */
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "etl/abi.h"
#include "inject/injector.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

#define SENDERS 3
#define WAKEUPS 3000
#define SLEEP_MS 4000

struct etl_injector etl_injector; /* wakeup.c is all that we take of the injector */
static _Atomic uint32_t posted;
static uint64_t payload[SENDERS];

static void *send_wakeups(void *argument)
{
	uintptr_t who = (uintptr_t)argument;

	for (int i = 0; i < WAKEUPS; i++) {
		payload[who]++;
		etl_add(&posted, 1);
#ifndef PLANT_SILENCE
		etl_wakeup_send();
#endif
		if (i % 100 == 0)
			usleep(100); /* so that the collector falls asleep */
	}
	return NULL;
}

int main(void)
{
	struct etl_error error;
	char path[64];
	pthread_t senders[SENDERS];
	struct timespec begin, end;
	struct etl_wakeup *wakeup;
	struct stat file;

	wakeup = etl_wakeup_create(&error);
	CHECK(wakeup);
	CHECK(snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), etl_wakeup_fd(wakeup)) > 0);
	CHECK(setenv(ETL_ENV_WAKEUP, path, 1) == 0);
	/* A program that shortened it would kill all others. */
	CHECK(truncate(path, 0) < 0 && stat(path, &file) == 0 && file.st_size == ETL_WAKEUP_BYTES);
	etl_injector.wakeup = etl_wakeup_map();
	CHECK(etl_injector.wakeup);

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (uintptr_t i = 0; i < SENDERS; i++)
		CHECK(pthread_create(&senders[i], NULL, send_wakeups, (void *)i) == 0);
	for (;;) {
		uint32_t seen = etl_wakeup_value(wakeup);

		if (etl_load(&posted) == SENDERS * WAKEUPS)
			break;
		etl_wakeup_wait(wakeup, seen, SLEEP_MS);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK(end.tv_sec - begin.tv_sec < SLEEP_MS / 1000);
	for (int i = 0; i < SENDERS; i++) {
		pthread_join(senders[i], NULL);
		CHECK(payload[i] == WAKEUPS);
	}

	etl_wakeup_pause(wakeup, 1);
	CHECK(etl_load(&etl_injector.wakeup->orders) == 1);
	CHECK(etl_peek(&etl_injector.wakeup->is_paused) == 1);
	etl_wakeup_free(wakeup);
	CHECK(access(path, F_OK) < 0);
	return 0;
}

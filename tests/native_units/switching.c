/* Recording that is switched by many at once: the program's threads open and close ranges,
 * the collector pauses, another client comes and leaves.  Nobody asks CUPTI for two things
 * at a time, and in the end what is on is what is wanted.  Run under ThreadSanitizer too. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "etl/clock.h"
#include "inject/conflict.h"
#include "inject/injector.h"
#include "inject/range.h"
#include "inject/recording.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

#define PROGRAM_THREADS 3
#define TURNS 15000

struct etl_injector etl_injector;
static struct etl_wakeup_page wakeup;
static pthread_barrier_t barrier;

/* ---- a CUPTI that serves one caller at a time */

static int calls, is_kernel_on, is_api_on; /* not atomic: two callers would be a race */

static int start_records(const struct etl_plan *plan, struct etl_error *error)
{
	(void)plan;
	(void)error;
	is_kernel_on = is_api_on = 0; /* what another client left is not ours */
	return 0;
}

static int switch_kind(const struct etl_planned *planned, bool on)
{
	calls++;
	if (planned->activity == ETL_ACTIVITY_CONCURRENT_KERNEL) {
		CHECK(is_kernel_on != on);
		is_kernel_on = on;
	}
	/* What is not ready is asked for again, by the timer thread. */
	return planned->activity == ETL_ACTIVITY_UNIFIED_MEMORY_COUNTER && on && calls % 2 ? CUPTI_NOT_READY :
									    CUPTI_OK;
}

/* The kind of kernels that are recorded one after the other: none are, or CUPTI refuses. */
static int enable(uint32_t kind)
{
	CHECK(kind == ETL_ACTIVITY_KERNEL);
	calls++;
	return is_kernel_on ? CUPTI_NOT_COMPATIBLE : CUPTI_OK;
}

static int disable(uint32_t kind)
{
	CHECK(kind == ETL_ACTIVITY_KERNEL);
	calls++;
	return CUPTI_OK;
}

static int switch_api(const struct etl_api_plan *plan, bool on)
{
	is_api_on += plan->kind == ETL_ACTIVITY_RUNTIME ? (on ? 1 : -1) : 0;
	return CUPTI_OK;
}

static const struct etl_records records = { .start = start_records,
					    .kind = switch_kind,
					    .api = switch_api };

static struct etl_plan plan = {
	.kinds = { { .activity = ETL_ACTIVITY_CONCURRENT_KERNEL },
		   { .activity = ETL_ACTIVITY_UNIFIED_MEMORY_COUNTER },
		   { .activity = 8, .is_lasting = true } },
	.n = 3,
	.api = { [1] = { .kind = ETL_ACTIVITY_RUNTIME, .is_asked_for = true } },
};

const char *cupti_result(const struct cupti_api *cupti, int result)
{
	(void)cupti;
	(void)result;
	return "";
}

int cupti_subscribe(const struct cupti_api *cupti, cupti_callback_fn callback, void **subscriber)
{
	(void)callback;
	return cupti->subscribe(subscriber, NULL, NULL);
}

bool etl_injector_is_ours(void)
{
	return true;
}

/* ---- those who switch */

static void *program_thread(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument;

	for (int turn = 0; turn < TURNS; turn++) {
		pthread_barrier_wait(&barrier);
		for (uint64_t n = random_next(&seed) % 8; n; n--) {
			etl_recording_count_range(1);
#ifdef PLANT_RACE
			calls++;
#endif
			etl_recording_count_range(-1);
		}
		etl_recording_count_range(turn % 2 ? -1 : 1); /* open after even turns */
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Of timer.c and the collector: orders, and other clients. */
static void timer(int turn)
{
	etl_wakeup_send();
	etl_store(&wakeup.is_paused, turn % 3 == 0);
	etl_recording_update(ETL_BY_COLLECTOR);
	if (turn % 5 == 0) {
		etl_put(&etl_injector.map.segment->last_return_ns, (uint64_t)etl_now_ns());
		etl_recording_lose();
		CHECK(etl_recording_is_lost() && etl_conflict_is_over()); /* at once: "keep" */
		etl_recording_regain();
		CHECK(!etl_recording_is_lost());
	}
	/* Ranges come and go meanwhile: what is off because nobody wants it is not cut. */
	CHECK(!etl_recording_is_cut());
	etl_store(&wakeup.is_paused, 0);
	etl_recording_update(ETL_BY_COLLECTOR);
	for (int i = 0; i < 50; i++)
		etl_recording_retry();
}

void etl_wakeup_send(void)
{
	etl_add(&wakeup.sent, 1);
}

/* The windows lie one after another, the last one open if it is on. */
static void check_windows(bool is_on)
{
	const struct etl_segment *segment = etl_injector.map.segment;
	uint32_t opened = etl_load(&segment->windows_opened), first;
	int64_t end_ns = 0;

	first = opened > ETL_WINDOWS ? opened - ETL_WINDOWS : 0;
	for (uint32_t number = first; number < opened; number++) {
		const struct etl_window *window = &segment->windows[number % ETL_WINDOWS];

		CHECK(window->start_ns >= end_ns);
		if (number + 1 == opened && is_on) {
			CHECK(window->end_ns == 0);
		} else {
			CHECK(window->end_ns != 0);
			/* One that is lost ends with the last buffer that came. */
			CHECK(window->closed_by == ETL_BY_OTHER_CLIENT ||
			      window->end_ns >= window->start_ns);
			end_ns = window->closed_by == ETL_BY_OTHER_CLIENT ? 0 : window->end_ns;
		}
	}
}

/* An order that comes while something else looks at the plan is the collector's all the same. */
static void order_that_is_left(void)
{
	const struct etl_segment *segment = etl_injector.map.segment;
	const struct etl_window *window;

	etl_recording_count_range(1);
	window = &segment->windows[etl_load(&segment->windows_opened) - 1];
	CHECK(window->opened_by == ETL_BY_RANGE && window->end_ns == 0);
	etl_store(&wakeup.is_paused, 1);
	etl_recording_retry();
	CHECK(window->closed_by == ETL_BY_COLLECTOR && window->end_ns);
	etl_store(&wakeup.is_paused, 0);
	CHECK(!etl_recording_is_cut());
	window++;
	CHECK(window->opened_by == ETL_BY_COLLECTOR && window->end_ns == 0);
	etl_recording_count_range(-1);
	CHECK(window->closed_by == ETL_BY_RANGE);
}

int main(void)
{
	pthread_t threads[PROGRAM_THREADS];
	struct etl_error error;
	int fd = -1;

	CHECK(setenv(ETL_ENV_RANGE, "nvtx:step", 1) == 0);
	CHECK(setenv(ETL_ENV_ON_CONFLICT, "keep", 1) == 0);
	CHECK(etl_segment_create(1, &etl_injector.map, &fd, NULL) == 0);
	etl_injector.wakeup = &wakeup;
	etl_injector.cupti.enable = enable;
	etl_injector.cupti.disable = disable;
	CHECK(pthread_barrier_init(&barrier, NULL, PROGRAM_THREADS + 1) == 0);
	CHECK(etl_recording_start(&plan, &records, false, &error) == 0);
	CHECK(!is_kernel_on);
	order_that_is_left();
	for (uintptr_t i = 0; i < PROGRAM_THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, program_thread, (void *)(i + 1)) == 0);
	for (int turn = 0; turn < TURNS; turn++) {
		pthread_barrier_wait(&barrier);
		timer(turn);
		pthread_barrier_wait(&barrier);
		/* All are done, and nobody looks again. */
		CHECK(etl_range_is_open() == (turn % 2 == 0));
		CHECK(etl_recording_is_on() == etl_range_is_open());
		CHECK(is_kernel_on == etl_range_is_open() && is_api_on == is_kernel_on);
		check_windows(is_kernel_on);
	}
	for (int i = 0; i < PROGRAM_THREADS; i++)
		pthread_join(threads[i], NULL);
	etl_recording_finish();
	check_windows(false);
	CHECK(calls > TURNS);
	etl_segment_unmap(&etl_injector.map);
	close(fd);
	return 0;
}

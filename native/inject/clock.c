/* The clock from which CUPTI takes the times of records.
 *
 * There is one for the process, and a client may bring its own.  PyTorch's profiler does, each
 * time that it begins, and does not take it back: records that are made later would carry its
 * ticks.  So ours is given whenever records are asked for; CUPTI's default is the same clock.
 * That it is asked no more tells that another client has come. */
#include "etl/clock.h"
#include "inject/clock.h"
#include "inject/injector.h"

static _Atomic bool is_looking, was_asked;
/* Only the timer thread's, and before it starts the process's. */
static bool can_tell;

/* Called for each API call that is recorded. */
static uint64_t realtime(void)
{
	/* Whoever asks meanwhile, it is this clock that is asked. */
	if (etl_peek(&is_looking))
		etl_put(&was_asked, true);
	return (uint64_t)etl_now_ns();
}

static bool is_asked(void)
{
	uint64_t now;
	int result;

	etl_put(&was_asked, false);
	etl_put(&is_looking, true);
	result = etl_injector.cupti.get_timestamp(&now);
	etl_put(&is_looking, false);
	return result != CUPTI_OK || etl_peek(&was_asked);
}

void etl_clock_set(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	can_tell = cupti->register_timestamp && cupti->get_timestamp &&
		   cupti->register_timestamp(realtime) == CUPTI_OK && is_asked();
}

bool etl_clock_is_ours(void)
{
	return !can_tell || is_asked();
}

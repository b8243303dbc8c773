/* Counts launches, and delays each for parts of the time, where the collector wants to know how much
 * slower the program would be if launches took longer.  What recording costs while it goes on is
 * told from those of windows and of the times between; see cupti_etl/capture/price.py.
 *
 * Once CUPTI has recorded, it makes each launch longer to the program's end, whatever is switched
 * off.  Nothing takes that back, so it has to be known before; a delay can be taken back. */
#include "etl/clock.h"
#include "inject/injector.h"
#include "inject/trial.h"

static _Atomic uint64_t launches;

static uint32_t ordered(void)
{
	const struct etl_wakeup_page *page = etl_injector.wakeup;

	return page ? etl_load(&page->trial) : ETL_TRIAL_OFF;
}

bool etl_trial_is_refused(void)
{
	return ordered() == ETL_TRIAL_REFUSED;
}

uint64_t etl_trial_launches(void)
{
	return etl_peek(&launches);
}

void etl_trial_launch(void)
{
	uint32_t trial = ordered();

	etl_add(&launches, 1);
	if (trial != ETL_TRIAL_COUNT && trial != ETL_TRIAL_DELAY)
		return;
	etl_add(&etl_injector.wakeup->launches, 1);
	if (trial == ETL_TRIAL_DELAY) {
		const int64_t until = etl_clock_ns(CLOCK_MONOTONIC) + ETL_TRIAL_DELAY_NS;

		while (etl_clock_ns(CLOCK_MONOTONIC) < until)
			;
	}
}

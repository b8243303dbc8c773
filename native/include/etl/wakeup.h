/* One page that the collector and all traced processes share to wake each other. */
#pragma once

#include <stdint.h>

#include "etl/atomics.h"
#include "etl/error.h"

#define ETL_WAKEUP_BYTES 4096

#pragma GCC visibility push(default)
/* cffi: begin */
/* What is done with launches to tell what recording would cost; see inject/trial.c.  REFUSED: it has
 * told that nothing can be recorded. */
enum etl_trial { ETL_TRIAL_OFF, ETL_TRIAL_COUNT, ETL_TRIAL_DELAY, ETL_TRIAL_REFUSED };
/* By so much a launch is longer once CUPTI has recorded kernels, to the end of the program, and as it
 * is called back: 1.2 and 0.5 to 0.7 us on an H100, with CUPTI 13.0. */
enum { ETL_TRIAL_DELAY_NS = 2000 };

struct etl_wakeup;

struct etl_wakeup *etl_wakeup_create(struct etl_error *error);
int etl_wakeup_fd(const struct etl_wakeup *wakeup);
/* Processes that have come and not been able to say hello, as they say themselves. */
uint32_t etl_wakeup_unmet(const struct etl_wakeup *wakeup);
uint32_t etl_wakeup_value(struct etl_wakeup *wakeup);
/* Returns when the value is no longer `seen`, or after the time. */
void etl_wakeup_wait(struct etl_wakeup *wakeup, uint32_t seen, int timeout_ms);
/* Tells all traced processes, those to come too, whether to record. */
void etl_wakeup_pause(struct etl_wakeup *wakeup, int is_paused);
/* Tells them whether to count their launches, and to delay each. */
void etl_wakeup_trial(struct etl_wakeup *wakeup, enum etl_trial trial);
uint64_t etl_wakeup_launches(const struct etl_wakeup *wakeup); /* counted so far */
/* Launches of single kernels while they were recorded, where the collector's orders are carried out
 * by calls; those that are captured into a graph are among them. */
uint64_t etl_wakeup_recorded(const struct etl_wakeup *wakeup);
void etl_wakeup_free(struct etl_wakeup *wakeup);
/* cffi: end */
#pragma GCC visibility pop

/* Two futex words on separate cache lines: targets wake the collector by one, and it them by the other. */
struct etl_wakeup_page {
	_Alignas(64) _Atomic uint32_t sent; /* there is something to take */
	_Alignas(64) _Atomic uint32_t orders; /* `is_paused` or `trial` has changed */
	_Atomic uint32_t is_paused; /* nothing is to be recorded for now */
	_Atomic uint32_t unmet; /* processes that have not been able to say hello */
	_Atomic uint32_t trial; /* enum etl_trial */
	_Alignas(64) _Atomic uint64_t launches; /* of all processes, while there is a trial */
	_Atomic uint64_t recorded; /* see etl_wakeup_recorded() */
};

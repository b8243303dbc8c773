/* One page that the collector and all traced processes share to wake each other. */
#pragma once

#include "etl/atomics.h"

#define ETL_WAKEUP_BYTES 4096

/* Two futex words on separate cache lines: targets wake the collector by one, and it them by the other. */
struct etl_wakeup_page {
	_Alignas(64) _Atomic uint32_t sent; /* there is something to take */
	_Alignas(64) _Atomic uint32_t orders; /* `is_paused` or `trial` has changed */
	_Atomic uint32_t is_paused; /* nothing is to be recorded for now */
	_Atomic uint32_t unmet; /* processes that have not been able to say hello */
	_Atomic uint32_t trial; /* enum etl_trial */
	_Alignas(64) _Atomic uint64_t launches; /* of all processes, while there is a trial */
};

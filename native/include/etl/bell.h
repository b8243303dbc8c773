/* One page that the collector and all traced processes share: who rings whom. */
#ifndef ETL_BELL_H
#define ETL_BELL_H

#include "etl/atomics.h"

#define ETL_BELL_BYTES 4096

/* Two futex words on separate cache lines: targets ring one, the collector the other. */
struct etl_bell_page {
	_Alignas(64) _Atomic uint32_t rung; /* there is something to take */
	_Alignas(64) _Atomic uint32_t orders; /* `is_paused` has changed */
	_Atomic uint32_t is_paused; /* nothing is to be recorded for now */
	_Atomic uint32_t unmet; /* processes that have not been able to say hello */
};

#endif

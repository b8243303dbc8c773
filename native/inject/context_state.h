/* Who has a context in hand, where CUPTI is asked for each context by one thread at a time. */
#pragma once

#include <sched.h>

#include "etl/atomics.h"
#include "etl/clock.h"

/* Whoever sets it to BUSY has the rest of what is known of the context, and alone calls CUPTI for
 * it. */
enum etl_context_state { ETL_CONTEXT_EMPTY, ETL_CONTEXT_READY, ETL_CONTEXT_BUSY };

/* Waits so long while another thread has it, which may hang.  False if the context is gone, or that
 * takes longer.  With `is_taken`, it is the caller's then. */
static inline bool etl_context_wait(_Atomic uint64_t *word, int64_t patience_ns, bool is_taken)
{
	const int64_t until = etl_now_ns() + patience_ns;

	for (;;) {
		uint64_t state = etl_load(word);

		if (state == ETL_CONTEXT_EMPTY)
			return false;
		if (state == ETL_CONTEXT_READY &&
		    (!is_taken || etl_claim(word, ETL_CONTEXT_READY, ETL_CONTEXT_BUSY)))
			return true;
		if (etl_now_ns() > until)
			return false;
		sched_yield();
	}
}

/* The atomic operations of the shared segment, and nothing else.
 *
 * The rule: whoever fills memory that another process will read stores the word
 * that hands it over with release; whoever takes it over loads that word with
 * acquire.  Counters that guard no other memory are relaxed.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define etl_load(p) atomic_load_explicit((p), memory_order_acquire)
#define etl_store(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define etl_peek(p) atomic_load_explicit((p), memory_order_relaxed)
#define etl_put(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define etl_add(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)

/* Takes a word from `from` to `to`; true if this caller did it.  Acquire, because
 * the caller goes on to read what the previous holder wrote; release, so that what
 * this caller did before is seen by the next holder. */
static inline bool etl_claim(_Atomic uint64_t *word, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_acq_rel,
						       memory_order_relaxed);
}

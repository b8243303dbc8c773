/* CUPTI's callbacks as rows: what a slot of content ETL_CALLBACKS holds, and what the injected
 * library offers to a Python program that wants them.
 *
 * A slot is a row of entries, each a multiple of 8 bytes long:
 *
 *	struct etl_callback_text   a text that events behind it in the slot refer to
 *	struct etl_callback_event  what a callback, or the two of a call, told
 *
 * so that each slot can be read alone. */
#pragma once

#include "etl/abi.h"
#include "etl/error.h"

enum { ETL_CALLBACK_TEXT = 1, ETL_CALLBACK_EVENT = 2 };
/* Domains of callbacks have numbers from 1 to below this. */
enum { ETL_CALLBACK_DOMAINS = 7 };
#define ETL_NO_TEXT UINT32_MAX
/* A longer text is cut. */
#define ETL_MOST_CALLBACK_TEXT 16384u

struct etl_callback_text {
	uint32_t bytes; /* of the entry */
	uint32_t type;
	uint32_t length; /* of the text, which follows */
	uint32_t reserved;
};

#pragma GCC visibility push(default)
/* cffi: begin */
/* Callback ids have numbers below this. */
enum { ETL_MOST_CALLBACK_IDS = 8192 };
/* What an event knows besides its times. */
enum etl_callback_value { ETL_HAS_RESULT = 1, ETL_HAS_SIZES = 2, ETL_HAS_SHARED = 4, ETL_HAS_STREAM = 8, ETL_HAS_BYTES = 16, ETL_HAS_KIND = 32, ETL_HAS_SRC = 64, ETL_HAS_DST = 128, ETL_HAS_VALUE = 256, ETL_HAS_OBJECT = 512 };
enum etl_callback_site { ETL_SITE_ENTER, ETL_SITE_EXIT, ETL_SITE_MOMENT };

struct etl_callback_event {
	uint32_t bytes;
	uint32_t type;
	uint32_t function; /* where in the slot its name is, and the text: UINT32_MAX for nowhere */
	uint32_t text;
	int64_t start_ns; /* 0: not known */
	int64_t end_ns; /* 0: it has none */
	uint32_t domain;
	uint32_t cbid;
	uint32_t site; /* enum etl_callback_site */
	uint32_t known; /* enum etl_callback_value */
	uint32_t thread_id;
	uint32_t context_id; /* 0: not known, as of correlation ids */
	uint32_t correlation_id;
	int32_t result;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t copy_kind; /* index of callback labels */
	uint32_t reserved;
	uint64_t shared_bytes;
	uint64_t stream; /* a handle */
	uint64_t size_bytes;
	uint64_t src;
	uint64_t dst;
	int64_t value;
	uint64_t object;
};

struct etl_callback_counts {
	uint64_t callbacks; /* that CUPTI made */
	uint64_t events; /* that came of them */
	uint64_t lost; /* events that found no room */
};

/* Called in CUPTI's callback, on the thread that called CUDA.  Texts may be NULL. */
typedef void (*etl_callback_fn)(void *data, const struct etl_callback_event *event, const char *function, const char *text);

/* Loads libcupti, if it is not; 0 or -errno. */
int cupti_etl_callbacks_load(struct etl_error *error);
/* What a callback is called, without the version of its signature: its length, or -1. */
int cupti_etl_callbacks_name(uint32_t domain, uint32_t cbid, const char **name);
/* Begins; a number, or -errno.  `selection`: DOMAIN:NAME with commas between, the domains as numbers.
 * With `fn` each callback is handed to it, else events gather in `buffer_mb` MiB of memory. */
int cupti_etl_callbacks_start(const char *selection, etl_callback_fn fn, void *data, uint32_t buffer_mb, struct etl_error *error);
/* No more events come; can be called anywhere. */
void cupti_etl_callbacks_stop(int number);
/* Whether this thread is in a callback, where the rest of the end cannot be. */
int cupti_etl_callbacks_is_inside(void);
/* 1 and a slot that is to be released; 0: none within this time; with a negative one, none that
 * is full. */
int cupti_etl_callbacks_next(int number, int timeout_ms, struct etl_slot_view *out);
void cupti_etl_callbacks_release(int number, int64_t slot);
void cupti_etl_callbacks_count(int number, struct etl_callback_counts *out);
/* Behind a stop: waits for callbacks that are still at it, and lets go of CUPTI. */
void cupti_etl_callbacks_close(int number);
/* cffi: end */
#pragma GCC visibility pop

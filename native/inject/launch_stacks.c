#include <errno.h>
#include <string.h>

#include "etl/hash.h"
#include "etl/strings.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/keys.h"
#include "inject/launch_stacks.h"
#include "inject/plan.h"
#include "inject/python.h"
#include "inject/recording.h"
#include "inject/row_slot.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *level; /* NULL: no stacks */
static bool is_meant[ETL_MAX_CBID]; /* the driver's functions, by callback id */

static void read_level(void)
{
	level = etl_env(ETL_ENV_PYTHON_STACKS);
	/* The program may change its environment. */
	if (level)
		level = strdup(level);
}

bool etl_launch_stacks_are_wanted(void)
{
	pthread_once(&once, read_level);
	return level != NULL;
}

/* ---- stacks that were met: from where they were read to what they consist of
 *
 * Threads look up without a lock and may write at once.  A pair that was torn apart, or that
 * another one took the place of, is not found: its halves do not fit together. */

/* Sets of a cache line each, so that two stacks of one set do not drive each other out. */
#define WAYS 4u
#define SETS (1u << 13)
static struct {
	_Alignas(64) struct {
		_Atomic uint64_t mixed; /* of what is looked up and its id */
		_Atomic uint64_t id;
	} ways[WAYS];
} recent[SETS];

/* The lowest bit of a key is always set. */
static unsigned set_of(uint64_t key)
{
	return key >> 8 & (SETS - 1);
}

static uint64_t recent_id(uint64_t key)
{
	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t id = etl_peek(&recent[set_of(key)].ways[i].id);

		if (etl_peek(&recent[set_of(key)].ways[i].mixed) == (key ^ id))
			return id;
	}
	return 0;
}

/* In the place of one that others of the key's bits choose. */
static void note_recent(uint64_t key, uint64_t id)
{
	unsigned way = key >> 60 & (WAYS - 1);

	for (unsigned i = 0; i < WAYS; i++)
		if (!etl_peek(&recent[set_of(key)].ways[i].id))
			way = i;
	etl_put(&recent[set_of(key)].ways[way].id, id);
	etl_put(&recent[set_of(key)].ways[way].mixed, key ^ id);
}

static uint64_t key_of(const struct etl_python_place *places, unsigned n)
{
	uint64_t key = n;

	for (unsigned i = 0; i < n; i++)
		key = etl_fold(key ^ (uintptr_t)places[i].code,
			       ((uintptr_t)places[i].instruction ^ UINT64_C(0xD6E8FEB86659FD93)) +
				       (etl_python_version(places[i].code) << 32));
	return etl_fold(key, UINT64_C(0x8EBC6AF09C88C6E3)) | 1;
}

/* ---- what they consist of; with `publish` held */

/* A program that makes code without end has stacks without end. */
#define MOST_PUBLISHED ((size_t)1 << 20)
static struct etl_keys published;

/* Its id, published if that is new; 0 if there is no room. */
static uint64_t publish(const void *bytes, size_t length, uint32_t flag)
{
	uint64_t id = etl_hash(bytes, length);

	if (etl_keys_have(&published, id))
		return id;
	if (published.n >= MOST_PUBLISHED || !etl_keys_reserve(&published) ||
	    !etl_intern_entry(id, bytes, length, ETL_STACK_TAG, flag))
		return 0;
	etl_keys_add(&published, id);
	return id;
}

static uint64_t publish_stack(const struct etl_python_place *places, unsigned n)
{
	static struct etl_python_frame frames[ETL_MOST_FRAMES];
	static _Alignas(8) uint8_t code[96 << 10];

	for (unsigned i = 0; i < n; i++) {
		size_t bytes = etl_python_code(places[i].code, code, sizeof code);

		frames[i].code_id = bytes ? publish(code, bytes, ETL_PYTHON_CODE) : 0;
		frames[i].at = etl_python_at(&places[i]);
		if (!frames[i].code_id)
			return 0;
	}
	return publish(frames, n * sizeof *frames, ETL_PYTHON_STACK);
}

static uint64_t stack_id(const struct etl_python_place *places, unsigned n)
{
	uint64_t key = key_of(places, n), id = recent_id(key);

	if (id)
		return id;
	pthread_mutex_lock(&etl_injector.publish);
	id = publish_stack(places, n);
	pthread_mutex_unlock(&etl_injector.publish);
	if (id)
		note_recent(key, id);
	return id;
}

/* ---- the calls */

static struct etl_row_slot calls = ETL_ROW_SLOT(ETL_LAUNCH_STACKS, struct etl_launch_stack);

enum etl_stack_state etl_launch_stacks_here(uint64_t *id)
{
	struct etl_python_place places[ETL_MOST_FRAMES];
	enum etl_stack_state state;
	unsigned n;

	*id = 0;
	state = etl_python_places(places, &n);
	if (n) {
		*id = stack_id(places, n);
		if (!*id)
			state = ETL_STACK_NO_ROOM;
	}
	return state;
}

bool etl_launch_stacks_mean(uint32_t cbid)
{
	return cbid < ETL_MAX_CBID && is_meant[cbid];
}

void etl_launch_stacks_call(uint32_t cbid, uint32_t correlation_id)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	struct etl_launch_stack call = { .correlation_id = correlation_id };
	int saved = errno;

	if (cbid >= ETL_MAX_CBID || !is_meant[cbid] || !etl_recording_is_on() ||
	    !etl_injector_is_ours())
		return;
	call.state = etl_launch_stacks_here(&call.stack_id);
	etl_row_slot_add(&calls, &call, &counters->stacks, &counters->stacks_lost);
	errno = saved;
}

static bool is_noted;

/* What is said of an interpreter that is not read, once. */
static void note_obstacle(void)
{
	if (is_noted || !etl_python_obstacle())
		return;
	is_noted = true;
	etl_recording_note(etl_python_obstacle());
}

void etl_launch_stacks_flush(void)
{
	if (!etl_launch_stacks_are_wanted())
		return;
	etl_python_look();
	note_obstacle();
	pthread_mutex_lock(&etl_injector.publish);
	(void)etl_intern_flush();
	pthread_mutex_unlock(&etl_injector.publish);
	etl_row_slot_flush(&calls);
	etl_wakeup_send();
}

void etl_launch_stacks_forget(void)
{
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	memset(is_meant, 0, sizeof is_meant);
	etl_keys_clear(&published);
	for (unsigned set = 0; set < SETS; set++)
		for (unsigned i = 0; i < WAYS; i++)
			etl_put(&recent[set].ways[i].mixed, 0);
	is_noted = false;
}

/* ---- which */

static const char *const *calls_of(const char *name)
{
	if (strcmp(name, "copies") == 0)
		return etl_stacks_copies;
	return strcmp(name, "all") == 0 ? etl_stacks_all : etl_stacks_launches;
}

int etl_launch_stacks_enable(void *subscriber, struct etl_error *error)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	unsigned n = 0;

	if (!etl_launch_stacks_are_wanted())
		return 0;
	if (!cupti->enable_callback || !cupti->callback_name)
		return etl_fail(error, ENOSYS, "this libcupti has no callbacks");
	etl_python_look();
	for (uint32_t cbid = 0; etl_next_driver_call(calls_of(level), &cbid);) {
		/* Before CUPTI is asked: it may tell at once.  A function that this driver does
		 * not have is refused, and is no loss. */
		is_meant[cbid] = true;
		n += cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, cbid) == CUPTI_OK;
	}
	return n ? 0 : etl_fail(error, EIO, "this libcupti tells of no launches");
}

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "etl/clock.h"
#include "etl/hash.h"
#include "etl/strings.h"
#include "inject/callback_events.h"
#include "inject/callback_watch.h"
#include "inject/injector.h"
#include "inject/recording.h"
#include "inject/wakeup.h"

enum { FREE, RESERVED, ON, STOPPED };
#define WORDS (ETL_MAX_CBID / 64)

static struct watch {
	_Atomic uint64_t state;
	_Atomic uint32_t users; /* callbacks that look at it */
	_Atomic uint32_t wakeup; /* counts slots that became full */
	/* Callback ids by domain; written while it is reserved. */
	uint64_t wanted[ETL_CALLBACK_DOMAINS][WORDS];
	int64_t since_ns;
	etl_callback_fn fn; /* NULL: to the slots */
	void *data;
	struct etl_callback_slots slots;
	_Atomic uint64_t callbacks;
} watches[ETL_WATCHES];

/* How many watches are on, so that a callback that is others' costs one look. */
static _Atomic uint32_t n_on;
static _Thread_local bool is_inside;

static bool has(const struct watch *watch, uint32_t domain, uint32_t cbid)
{
	return watch->wanted[domain][cbid / 64] >> cbid % 64 & 1;
}

static bool is_on(const struct watch *watch)
{
	/* Acquire: what it wants was written before. */
	return etl_load(&watch->state) == ON;
}

bool etl_watch_is_on(int number)
{
	return is_on(&watches[number]);
}

struct etl_callback_slots *etl_watch_slots(int number)
{
	return &watches[number].slots;
}

uint64_t etl_watch_callbacks(int number)
{
	return etl_peek(&watches[number].callbacks);
}

bool etl_watch_any(void)
{
	return etl_load(&n_on) != 0;
}

bool etl_watch_has(int number, uint32_t domain, uint32_t cbid)
{
	return has(&watches[number], domain, cbid);
}

bool etl_watch_wants(uint32_t domain, uint32_t cbid)
{
	for (int i = 0; i < ETL_WATCHES; i++)
		if (is_on(&watches[i]) && has(&watches[i], domain, cbid))
			return true;
	return false;
}

int cupti_etl_callbacks_is_inside(void)
{
	return is_inside;
}

/* ---- beginning and end */

/* Marks the callbacks of a name; how many there are. */
static unsigned mark(struct watch *watch, uint32_t domain, const char *name, size_t length)
{
	unsigned n = 0;

	for (uint32_t cbid = 1; cbid < ETL_MAX_CBID; cbid++) {
		const struct etl_callback_name *one = etl_callback_name(domain, cbid);

		if (!one || one->text.length != length || memcmp(one->text.text, name, length) != 0)
			continue;
		watch->wanted[domain][cbid / 64] |= UINT64_C(1) << cbid % 64;
		n++;
	}
	return n;
}

/* How many callbacks of a selection there are. */
static unsigned select(struct watch *watch, const char *selection)
{
	unsigned n = 0;

	memset(watch->wanted, 0, sizeof watch->wanted);
	while (*selection) {
		const char *end = strchrnul(selection, ',');
		uint32_t domain = (uint32_t)(*selection - '0');

		if (end - selection > 2 && selection[1] == ':' && domain < ETL_CALLBACK_DOMAINS)
			n += mark(watch, domain, selection + 2, (size_t)(end - selection - 2));
		selection = *end ? end + 1 : end;
	}
	return n;
}

int etl_watch_reserve(void)
{
	for (int i = ETL_CAPTURE_WATCH + 1; i < ETL_WATCHES; i++)
		if (etl_claim(&watches[i].state, FREE, RESERVED))
			return i;
	return -1;
}

int etl_watch_begin(int number, const char *selection, etl_callback_fn fn, void *data,
		    struct etl_map *map, struct etl_error *error)
{
	struct watch *watch = &watches[number];

	etl_callback_names_load();
	if (!select(watch, selection))
		return etl_fail(error, ENOENT, "this libcupti knows none of the callbacks");
	watch->fn = fn;
	watch->data = data;
	watch->since_ns = etl_now_ns();
	etl_put(&watch->callbacks, 0);
	if (!fn)
		etl_callback_slots_init(&watch->slots, map);
	atomic_fetch_add(&n_on, 1);
	/* Release: behind all of this. */
	etl_store(&watch->state, ON);
	return 0;
}

static void wake(struct watch *watch)
{
	etl_add(&watch->wakeup, 1);
	syscall(SYS_futex, &watch->wakeup, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void etl_watch_stop(int number)
{
	uint64_t on = ON;

	/* Sequentially consistent, see await_users(). */
	if (atomic_compare_exchange_strong(&watches[number].state, &on, STOPPED)) {
		atomic_fetch_sub(&n_on, 1);
		wake(&watches[number]);
	}
}

/* Behind a stop. */
static void await_users(struct watch *watch)
{
	/* Sequentially consistent, as in etl_watch_call(): either the callback sees that it has
	 * stopped, or we see that it is there. */
	while (atomic_load(&watch->users))
		sched_yield();
}

void etl_watch_end(int number)
{
	etl_watch_stop(number);
	await_users(&watches[number]);
}

void etl_watch_free(int number)
{
	/* Release: behind all that the last user did with what belongs to the number. */
	etl_store(&watches[number].state, FREE);
}

void etl_watch_forget(void)
{
	for (int i = 0; i < ETL_WATCHES; i++) {
		etl_store(&watches[i].state, FREE);
		etl_put(&watches[i].users, 0);
	}
	etl_store(&n_on, 0);
}

void etl_watch_wait(int number, int timeout_ms)
{
	struct watch *watch = &watches[number];
	uint32_t seen = etl_load(&watch->wakeup);
	struct timespec time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	if (!is_on(watch))
		await_users(watch);
	else
		syscall(SYS_futex, &watch->wakeup, FUTEX_WAIT_PRIVATE, seen, &time, NULL, 0);
}

/* ---- callbacks */

struct happening {
	uint32_t domain, cbid;
	const void *info; /* CUPTI's */
	const struct etl_callback_name *name;
	bool is_entry; /* a call begins */
	int64_t entered_ns; /* of a call that returns; not known if it is not plausible */
	int64_t now_ns;
	bool is_made; /* the two that follow */
	struct etl_callback_event event;
	struct etl_callback_string text;
};

/* When somebody wants to know more than that it happened. */
static void make_event(const struct watch *watch, struct happening *what)
{
	struct etl_callback_event *event = &what->event;

	if (!what->is_made) {
		etl_callback_event(what->domain, what->cbid, what->info, what->name, event, &what->text);
		if (what->text.text)
			what->text.hash = etl_hash(what->text.text, what->text.length);
		what->is_made = true;
	}
	event->start_ns = what->now_ns;
	event->end_ns = 0;
	if (event->site == ETL_SITE_EXIT) {
		/* A call that began before anybody asked has left no time. */
		bool is_known = what->entered_ns >= watch->since_ns && what->entered_ns <= what->now_ns;

		event->start_ns = is_known ? what->entered_ns : 0;
		event->end_ns = what->now_ns;
	}
}

static void hand_to_fn(struct watch *watch, struct happening *what)
{
	static _Thread_local char name[256];
	size_t length = what->name->text.length < sizeof name ? what->name->text.length : 0;

	/* What it calls itself is not told to it. */
	if (is_inside)
		return;
	memcpy(name, what->name->text.text, length);
	name[length] = '\0';
	make_event(watch, what);
	is_inside = true;
	watch->fn(watch->data, &what->event, name, what->text.text);
	is_inside = false;
}

static void hand_to_slots(struct watch *watch, int number, struct happening *what)
{
	if (what->is_entry)
		return; /* the call has one event, when it returns */
	make_event(watch, what);
	if (!etl_callback_slots_add(&watch->slots, &what->event, &what->name->text, &what->text))
		return;
	if (number == ETL_CAPTURE_WATCH)
		etl_wakeup_send();
	else
		wake(watch);
}

static void hand_out(struct watch *watch, int number, struct happening *what)
{
	if (number == ETL_CAPTURE_WATCH && !(etl_injector_is_ours() && etl_recording_is_on()))
		return;
	etl_add(&watch->callbacks, 1);
	if (watch->fn)
		hand_to_fn(watch, what);
	else
		hand_to_slots(watch, number, what);
}

static void look_at(struct happening *what)
{
	const struct etl_callback_data *call = what->domain <= CUPTI_DOMAIN_RUNTIME ? what->info : NULL;

	what->name = etl_callback_name(what->domain, what->cbid);
	what->is_entry = call && call->site == 0;
	what->is_made = false;
	what->entered_ns = 0;
	what->now_ns = etl_now_ns();
	if (!call || !call->correlation_data)
		return;
	/* The time of entry travels with the call. */
	if (what->is_entry)
		*call->correlation_data = (uint64_t)what->now_ns;
	else
		what->entered_ns = (int64_t)*call->correlation_data;
}

void etl_watch_call(uint32_t domain, uint32_t cbid, const void *info)
{
	struct happening what;
	bool is_looked_at = false;
	int saved = errno;

	if (!etl_peek(&n_on) || domain == 0 || domain >= ETL_CALLBACK_DOMAINS || cbid >= ETL_MAX_CBID)
		return;
	what.domain = domain;
	what.cbid = cbid;
	what.info = info;
	for (int i = 0; i < ETL_WATCHES; i++) {
		struct watch *watch = &watches[i];

		if (etl_peek(&watch->state) != ON)
			continue;
		atomic_fetch_add(&watch->users, 1);
		if (atomic_load(&watch->state) == ON && has(watch, domain, cbid)) {
			if (!is_looked_at)
				look_at(&what);
			is_looked_at = true;
			if (what.name)
				hand_out(watch, i, &what);
		}
		/* Release: the end sees all that was done. */
		atomic_fetch_sub_explicit(&watch->users, 1, memory_order_release);
	}
	errno = saved;
}

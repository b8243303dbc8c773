#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "etl/clock.h"
#include "etl/rows.h"
#include "inject/injector.h"
#include "inject/open_range.h"
#include "inject/ranges.h"
#include "inject/recording.h"
#include "inject/row_slot.h"

/* Held for some tens of nanoseconds; never while CUPTI or Python is called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etl_open_range *last; /* of all threads, the newest first */
static uint64_t order;
static uint32_t capture;
static bool is_begun; /* and not over */
static int32_t last_id;

static struct etl_row_slot events = ETL_ROW_SLOT_OF_MIXED(ETL_RANGES);

static const struct etl_text nothing = { "", 0 };
static const struct etl_text step_name = { "step", 4 };

/* As CUPTI numbers them in API calls. */
static uint32_t this_thread(void)
{
	static __thread uint32_t id;

	if (!id)
		id = etl_injector.cupti.set_thread_id_type ? (uint32_t)syscall(SYS_gettid) :
							     (uint32_t)(uintptr_t)pthread_self();
	return id;
}

static void link_range(struct etl_open_range *range)
{
	range->order = ++order;
	range->previous = NULL;
	range->next = last;
	if (last)
		last->previous = range;
	last = range;
}

static void unlink_range(struct etl_open_range *range)
{
	if (range->previous)
		range->previous->next = range->next;
	else
		last = range->next;
	if (range->next)
		range->next->previous = range->previous;
}

/* ---- what is written; with `lock` held */

static void write_event(struct etl_range_event event, struct etl_text name,
			struct etl_text attributes)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	const struct iovec parts[] = {
		{ &event, sizeof event },
		{ (void *)(uintptr_t)name.bytes, name.length },
		{ (void *)(uintptr_t)attributes.bytes, attributes.length },
	};
	bool has_data = event.payload >= 0;

	event.name_bytes = (uint32_t)name.length;
	event.attribute_bytes = (uint32_t)attributes.length;
	etl_add(&counters->handed_over, 1u + has_data);
	if (etl_row_slot_write(&events, parts, 3))
		return;
	etl_add(&counters->ring_full[ETL_ACTIVITY_MARKER], 1);
	if (has_data)
		etl_add(&counters->ring_full[ETL_ACTIVITY_MARKER_DATA], 1);
}

static void write_start(struct etl_open_range *range, struct etl_text attributes)
{
	const struct etl_text name = { range->name, range->name_length };
	const struct etl_range_event event = {
		.timestamp_ns = etl_now_ns(),
		.marker_id = range->marker_id,
		.thread_id = range->thread_id,
		.payload = -1,
	};

	write_event(event, name, attributes);
}

/* The end of one that is recorded is recorded, too, be recording paused meanwhile. */
static void write_end(const struct etl_open_range *range, int64_t now_ns)
{
	const struct etl_range_event event = {
		.timestamp_ns = now_ns,
		.marker_id = range->marker_id,
		.thread_id = this_thread(),
		.is_end = true,
		.payload = -1,
	};

	if (range->capture == capture && is_begun)
		write_event(event, nothing, nothing);
}

/* ---- opening and closing */

static bool is_recorded(void)
{
	return is_begun && etl_recording_is_on();
}

static struct etl_text cut(struct etl_text text)
{
	if (text.length > ETL_MOST_RANGE_NAME)
		text.length = ETL_MOST_RANGE_NAME;
	return text;
}

static bool begin_range(const void *owner, bool is_step, struct etl_text name,
		       struct etl_text attributes)
{
	struct etl_open_range *range;

	name = cut(name);
	if (attributes.length > ETL_MOST_RANGE_ATTRIBUTES)
		attributes = nothing;
	range = etl_range_allocate(name.length);
	if (!range)
		return false; /* there is no memory */
	range->owner = owner;
	range->is_step = is_step;
	range->thread_id = this_thread();
	range->name_length = (uint16_t)name.length;
	memcpy(range->name, name.bytes, name.length);
	range->capture = is_recorded() ? capture : 0;
	link_range(range);
	if (range->capture) {
		range->marker_id = --last_id;
		write_start(range, attributes);
	}
	return true;
}

static void end_range(struct etl_open_range *range, int64_t now_ns)
{
	write_end(range, now_ns);
	unlink_range(range);
	etl_range_free(range);
}

static struct etl_open_range *find(const void *owner, bool is_step)
{
	struct etl_open_range *elsewhere = NULL;
	uint32_t me = this_thread();

	for (struct etl_open_range *range = last; range; range = range->next) {
		if (range->owner != owner || range->is_step != is_step)
			continue;
		if (range->thread_id == me)
			return range;
		elsewhere = elsewhere ? elsewhere : range;
	}
	return is_step ? NULL : elsewhere;
}

bool etl_range_begin(const void *owner, struct etl_text name, struct etl_text attributes)
{
	int saved = errno;
	bool is_open;

	pthread_mutex_lock(&lock);
	is_open = begin_range(owner, false, name, attributes);
	pthread_mutex_unlock(&lock);
	errno = saved;
	return is_open;
}

bool etl_range_end(const void *owner)
{
	int64_t now_ns = etl_now_ns();
	struct etl_open_range *range;
	int saved = errno;

	pthread_mutex_lock(&lock);
	range = find(owner, false);
	if (range)
		end_range(range, now_ns);
	pthread_mutex_unlock(&lock);
	errno = saved;
	return range != NULL;
}

void etl_range_disown(const void *owner)
{
	pthread_mutex_lock(&lock);
	for (struct etl_open_range *range = last; range; range = range->next)
		if (range->owner == owner)
			range->owner = NULL;
	pthread_mutex_unlock(&lock);
}

/* With `lock` held. */
static void end_step(int64_t now_ns)
{
	struct etl_open_range *range = find(NULL, true);

	if (range)
		end_range(range, now_ns);
}

void etl_range_step(struct etl_text attributes)
{
	int saved = errno;

	pthread_mutex_lock(&lock);
	end_step(etl_now_ns());
	if (is_recorded())
		(void)begin_range(NULL, true, step_name, attributes);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void etl_range_step_end(void)
{
	int64_t now_ns = etl_now_ns();
	int saved = errno;

	pthread_mutex_lock(&lock);
	end_step(now_ns);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* ---- ranges that others keep account of */

struct etl_range_mark etl_range_open(enum etl_range_domain domain, struct etl_text name,
				     int64_t payload)
{
	struct etl_range_event event = {
		.thread_id = this_thread(),
		.domain = domain,
		.payload = payload,
	};
	struct etl_range_mark mark = { 0 };

	pthread_mutex_lock(&lock);
	if (is_recorded()) {
		mark = (struct etl_range_mark){ --last_id, capture };
		event.marker_id = mark.marker_id;
		event.timestamp_ns = etl_now_ns();
		write_event(event, cut(name), nothing);
	}
	pthread_mutex_unlock(&lock);
	return mark;
}

void etl_range_close(enum etl_range_domain domain, struct etl_range_mark mark)
{
	const struct etl_range_event event = {
		.timestamp_ns = etl_now_ns(),
		.marker_id = mark.marker_id,
		.thread_id = this_thread(),
		.is_end = true,
		.domain = domain,
		.payload = -1,
	};

	pthread_mutex_lock(&lock);
	if (mark.marker_id && mark.capture == capture && is_begun)
		write_event(event, nothing, nothing);
	pthread_mutex_unlock(&lock);
}

/* ---- pieces */

uint64_t etl_ranges_mark(void)
{
	uint64_t mark;

	pthread_mutex_lock(&lock);
	mark = order;
	pthread_mutex_unlock(&lock);
	return mark;
}

struct etl_open_range *etl_ranges_suspend(uint64_t mark)
{
	struct etl_open_range *aside = NULL, *next;
	int64_t now_ns = 0;
	int saved = errno;

	pthread_mutex_lock(&lock);
	for (struct etl_open_range *range = last; range && range->order > mark; range = next) {
		next = range->next;
		if (range->thread_id != this_thread() || range->is_step)
			continue;
		now_ns = now_ns ? now_ns : etl_now_ns();
		write_end(range, now_ns);
		unlink_range(range);
		range->next = aside; /* the oldest comes first */
		aside = range;
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
	return aside;
}

void etl_ranges_resume(struct etl_open_range *aside)
{
	struct etl_open_range *next;
	int saved = errno;

	pthread_mutex_lock(&lock);
	for (struct etl_open_range *range = aside; range; range = next) {
		next = range->next;
		range->thread_id = this_thread();
		link_range(range);
		if (range->capture != capture)
			continue;
		if (is_recorded())
			write_start(range, nothing);
		else
			range->capture = 0;
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* ---- the capture */

void etl_ranges_flush(void)
{
	etl_row_slot_flush(&events);
}

void etl_ranges_finish(void)
{
	int64_t now_ns = etl_now_ns();
	struct etl_open_range *next;

	pthread_mutex_lock(&lock);
	for (struct etl_open_range *range = last; range; range = next) {
		next = range->next;
		if (range->is_step)
			end_range(range, now_ns);
	}
	/* The last flush follows. */
	is_begun = false;
	pthread_mutex_unlock(&lock);
}

void etl_ranges_forget(void)
{
	pthread_mutex_lock(&lock);
	etl_row_slot_forget(&events);
	last_id = 0;
	capture++;
	is_begun = true;
	pthread_mutex_unlock(&lock);
}

/* Whoever held the lock is not here. */
void etl_ranges_in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	etl_row_slot_forget(&events);
	last = NULL;
	is_begun = false;
}

/* CUPTI tells a client nothing when another one registers its own callbacks (as
 * torch.profiler does): the first just receives no more.  A silent hole would follow.
 * So the timer thread makes a harmless driver call about once a second and expects its
 * record; it stays away only if somebody else gets the records. */
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "etl/clock.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/recording.h"
#include "inject/takeover_probe.h"

#define PROBE "cuDriverGetVersion"
/* Flushes to wait for a record: it can be late, but not by seconds. */
#define PATIENCE 5
#define PERIOD_NS INT64_C(1000000000)

static uint32_t cbid; /* of the call; 0: its record cannot be had */
/* Where the table of API calls says how its records lie. */
static int table;
static uint32_t cbid_column, thread_column;
static int (*call)(int *version);
static _Atomic uint32_t thread_id, thread_id_posix;
static _Atomic uint64_t seen;
/* Only the timer thread's. */
static uint64_t called, seen_before;
static int64_t called_ns;
static int waited;

/* The number of the call; 0 if its record cannot be had on its own. */
static uint32_t find(void)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY), *symbol;

	if (!driver || !cupti->enable_driver_api)
		return 0;
	symbol = dlsym(driver, PROBE);
	memcpy(&call, &symbol, sizeof symbol);
	return call ? cupti_driver_cbid(cupti, PROBE) : 0;
}

static uint32_t column(const char *name)
{
	uint32_t i = 0;

	while (i + 1 < etl_kinds[table].n_columns &&
	       strcmp(etl_kinds[table].columns[i].name, name) != 0)
		i++;
	return i;
}

void etl_takeover_probe_plan(struct etl_plan *plan)
{
	struct etl_api_plan *api = &plan->api[0];
	uint32_t at = 0;

	table = etl_table_of(ETL_ACTIVITY_DRIVER);
	cbid_column = column("cbid");
	thread_column = column("thread_id");
	cbid = find();
	if (!cbid)
		return;
	api->is_asked_for = true;
	while (at < api->n_unwanted && api->unwanted[at] != cbid)
		at++;
	if (at == api->n_unwanted)
		return;
	memmove(api->unwanted + at, api->unwanted + at + 1,
		(--api->n_unwanted - at) * sizeof *api->unwanted);
	/* First, see selected.c for the last. */
	memmove(api->wanted + 1, api->wanted, api->n_wanted++ * sizeof *api->wanted);
	api->wanted[0] = cbid;
	pthread_mutex_lock(&etl_injector.publish);
	etl_intern(PROBE, strlen(PROBE), etl_api_tag(ETL_ACTIVITY_DRIVER, cbid), ETL_API_DROP);
	etl_intern_flush();
	pthread_mutex_unlock(&etl_injector.publish);
}

void etl_takeover_probe_forget(void)
{
	waited = 0;
	called_ns = 0;
}

void etl_takeover_probe_call(void)
{
	int64_t now = etl_now_ns();
	int version;

	if (!cbid || waited || !etl_recording_is_on() || (called && now - called_ns < PERIOD_NS))
		return;
	etl_put(&thread_id, (uint32_t)syscall(SYS_gettid));
	/* What CUPTI gives where the thread id type could not be chosen. */
	etl_put(&thread_id_posix, (uint32_t)(uintptr_t)pthread_self());
	called++;
	called_ns = now;
	waited = 1;
	call(&version);
}

bool etl_takeover_probe_mark(uint8_t *record)
{
	uint32_t kind, id, thread;
	const uint32_t mark = ETL_PROBE_CBID;
	const struct etl_layout *layout = &etl_injector.map.segment->layouts[table];
	uint8_t *place = record + layout->offset[cbid_column];

	memcpy(&kind, record, sizeof kind);
	if (!cbid || kind != ETL_ACTIVITY_DRIVER)
		return false;
	memcpy(&id, place, sizeof id);
	if (id == ETL_PROBE_CBID)
		return true;
	memcpy(&thread, record + layout->offset[thread_column], sizeof thread);
	if (id != cbid || (thread != etl_peek(&thread_id) && thread != etl_peek(&thread_id_posix)))
		return false;
	memcpy(place, &mark, sizeof mark);
	etl_add(&seen, 1);
	return true;
}

bool etl_takeover_probe_is_lost(void)
{
	uint64_t now_seen = etl_peek(&seen);

	if (!etl_recording_is_on())
		waited = 0; /* its record may not have been made */
	if (!waited)
		return false;
	if (now_seen != seen_before) {
		seen_before = now_seen;
		waited = 0;
		return false;
	}
	if (++waited <= PATIENCE)
		return false;
	waited = 0;
	/* Where the first never came back, this CUPTI does not record the call. */
	return now_seen != 0;
}

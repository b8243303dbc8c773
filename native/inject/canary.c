/* CUPTI tells a client nothing when another one registers its own callbacks (as
 * torch.profiler does): the first just receives no more.  A silent hole would follow.
 * So the timer thread makes a harmless driver call about once a second and expects its
 * record; it stays away only if somebody else gets the records. */
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "etl/strings.h"
#include "inject/inject.h"

#define SONG "cuDriverGetVersion"
#define KIND_DRIVER 4
/* CUpti_ActivityAPI, the same in all versions. */
#define CBID_AT 4
#define THREAD_AT 28
/* Flushes to wait for a record: it can be late, but not by seconds. */
#define PATIENCE 5
#define PERIOD_NS INT64_C(1000000000)

static uint32_t cbid; /* of the call; 0: its record cannot be had */
static int (*sing)(int *version);
static _Atomic uint32_t thread_id, thread_id_posix;
static _Atomic uint64_t heard, heard_ns;
/* Only the timer thread's. */
static uint64_t sung, heard_before;
static int64_t sung_ns;
static int waited;

void etl_canary_enable(bool is_wanted)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY), *symbol;

	if (!cupti->callback_name || !cupti->enable_driver_api || !driver)
		return;
	symbol = dlsym(driver, SONG);
	memcpy(&sing, &symbol, sizeof symbol);
	for (uint32_t id = 1; sing && id < 2048 && !cbid; id++) {
		const char *name = NULL;

		if (cupti->callback_name(CUPTI_DOMAIN_DRIVER, id, &name) == CUPTI_OK && name &&
		    strcmp(name, SONG) == 0 && cupti->enable_driver_api(id, 1) == CUPTI_OK)
			cbid = id;
	}
	if (!cbid || is_wanted)
		return;
	pthread_mutex_lock(&etl_injector.publish);
	etl_intern(SONG, strlen(SONG), etl_api_tag(KIND_DRIVER, cbid), ETL_API_DROP);
	etl_intern_flush();
	pthread_mutex_unlock(&etl_injector.publish);
}

void etl_canary_sing(void)
{
	int64_t now = etl_now_ns();
	int version;

	if (!cbid || waited || (sung && now - sung_ns < PERIOD_NS))
		return;
	etl_put(&thread_id, (uint32_t)syscall(SYS_gettid));
	/* What CUPTI gives where the thread id type could not be chosen. */
	etl_put(&thread_id_posix, (uint32_t)(uintptr_t)pthread_self());
	sung++;
	sung_ns = now;
	waited = 1;
	sing(&version);
}

bool etl_canary_mark(uint8_t *record)
{
	uint32_t kind, id, thread;
	const uint32_t mark = ETL_CANARY_CBID;

	memcpy(&kind, record, sizeof kind);
	if (!cbid || kind != KIND_DRIVER)
		return false;
	memcpy(&id, record + CBID_AT, sizeof id);
	if (id == ETL_CANARY_CBID)
		return true;
	memcpy(&thread, record + THREAD_AT, sizeof thread);
	if (id != cbid || (thread != etl_peek(&thread_id) && thread != etl_peek(&thread_id_posix)))
		return false;
	memcpy(record + CBID_AT, &mark, sizeof mark);
	etl_put(&heard_ns, (uint64_t)etl_now_ns());
	etl_add(&heard, 1);
	return true;
}

void etl_canary_listen(void)
{
	struct etl_segment *segment = etl_injector.map.segment;
	uint64_t now_heard = etl_peek(&heard);

	if (!waited)
		return;
	if (now_heard != heard_before) {
		heard_before = now_heard;
		waited = 0;
		if (etl_peek(&segment->taken_ns) && !etl_peek(&segment->regained_ns))
			etl_put(&segment->regained_ns, (uint64_t)etl_now_ns());
		return;
	}
	if (++waited <= PATIENCE)
		return;
	waited = 0;
	/* Where the first never came back, this CUPTI does not record the call. */
	if (now_heard && !etl_peek(&segment->taken_ns))
		etl_put(&segment->taken_ns, etl_peek(&heard_ns));
	else if (now_heard)
		etl_put(&segment->regained_ns, 0);
}

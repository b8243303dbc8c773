#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/range.h"
#include "inject/range_contexts.h"
#include "inject/range_user.h"
#include "inject/recording.h"

/* One at a time, of all contexts.  Held while calling CUPTI: whoever closes a range waits for whoever
 * opens it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etl_range_session *open_session;
/* The same, for launches: they hold no lock, as whoever opens a range waits for CUPTI with it, which
 * may wait for the launch.  A session is never freed. */
static _Atomic(struct etl_range_session *) counted;

/* Without "nvtx:". */
static const char *plain(const char *name)
{
	const char *colon = name ? strchr(name, ':') : NULL;

	return colon ? colon + 1 : name ? name : "";
}

/* The calling thread's; NULL: it has none yet. */
static void *current_context(void)
{
	int (*get_current)(void **context);
	void *found = etl_driver_function("cuCtxGetCurrent"), *context = NULL;

	memcpy(&get_current, &found, sizeof found);
	return get_current && get_current(&context) == 0 ? context : NULL;
}

static bool is_wanted(void)
{
	return etl_range_asked.is_wanted && etl_range_asked.is_by_range && !etl_range_has_failed() &&
	       etl_injector_is_ours();
}

static struct etl_range_session *start(void *context, const char *name)
{
	struct etl_range_session *session = etl_range_take(context);
	int64_t code = session ? etl_range_session_start(session, name) : 0;

	if (code == 0)
		return session;
	etl_range_fail(code);
	etl_range_release(session);
	return NULL;
}

static void enter(const char *name)
{
	int saved = errno;
	void *context;

	if (!is_wanted())
		return;
	context = current_context();
	pthread_mutex_lock(&lock);
	if (!context)
		etl_range_leave_out(ETL_LEFT_OUT_OTHER);
	else if (!open_session)
		open_session = start(context, plain(name));
	etl_store(&counted, open_session);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* With the lock held.  `is_whole`: the range has ended. */
static void stop(const char *name, bool is_whole)
{
	struct etl_range_session *session = open_session;
	int64_t code;

	open_session = NULL;
	etl_store(&counted, NULL);
	code = etl_range_session_stop(session, 0, name, is_whole);
	if (code != 0)
		etl_range_fail(code);
	if (!is_whole)
		etl_add(&etl_injector.map.segment->counters.range_dropped, 1);
	etl_range_release(session);
}

static void leave(const char *name)
{
	int saved = errno;

	if (!etl_range_asked.is_by_range || !etl_injector_is_ours())
		return;
	pthread_mutex_lock(&lock);
	if (open_session)
		stop(plain(name), true);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* What is measured is recorded, too. */
void etl_range_user_count(int by)
{
	if (by < 0 && etl_range_open_count() == 1)
		leave(etl_range());
	etl_recording_count_range(by);
	if (by > 0 && etl_range_open_count() == 1)
		enter(etl_range());
}

void etl_range_user_leave(const void *context)
{
	if (!etl_range_asked.is_by_range)
		return;
	pthread_mutex_lock(&lock);
	if (open_session && (!context || open_session->context == context))
		stop(NULL, false);
	pthread_mutex_unlock(&lock);
}

void etl_range_user_launch(const void *context, uint64_t launch)
{
	/* With the context that was stored before it. */
	struct etl_range_session *session = etl_load(&counted);

	if (session && session->context == context)
		etl_range_session_launched(session, launch);
}

void etl_range_user_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	open_session = NULL;
	etl_store(&counted, NULL);
}

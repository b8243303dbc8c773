#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "inject/context_state.h"
#include "inject/injector.h"
#include "inject/range_contexts.h"

#define MOST_CONTEXTS 16
/* A launch waits so long for one of another thread that is measured: that one may wait for it. */
#define PATIENCE_NS INT64_C(60000000000)

/* Whose session is whose, and whether there are new ones.  Never held while calling CUPTI. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etl_range_session sessions[MOST_CONTEXTS];
static bool is_open; /* CUPTI tells of the ends of contexts */
static bool is_over;

/* The first reason stays, as what comes later follows from it. */
void etl_range_fail(int64_t code)
{
	_Atomic int64_t *failure = &etl_injector.map.segment->counters.range_failure;

	if (!etl_peek(failure))
		etl_put(failure, code);
}

bool etl_range_has_failed(void)
{
	return etl_peek(&etl_injector.map.segment->counters.range_failure) != 0;
}

void etl_range_leave_out(enum etl_left_out reason)
{
	etl_add(&etl_injector.map.segment->counters.range_left_out[reason], 1);
}

/* With the lock held. */
static struct etl_range_session *find(const void *context)
{
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (etl_load(&sessions[i].state) != ETL_CONTEXT_EMPTY && sessions[i].context == context)
			return &sessions[i];
	return NULL;
}

static struct etl_range_session *find_locked(const void *context)
{
	struct etl_range_session *session;

	pthread_mutex_lock(&lock);
	session = find(context);
	pthread_mutex_unlock(&lock);
	return session;
}

/* That of the context; or a new one, which is the caller's and has to begin.  NULL: there is no
 * room, or it is over. */
static struct etl_range_session *find_or_make(void *context, bool *is_new)
{
	struct etl_range_session *session;
	bool is_full = false;

	pthread_mutex_lock(&lock);
	session = is_over || !is_open ? NULL : find(context);
	*is_new = !is_over && is_open && !session;
	for (int i = 0; *is_new && !session && i < MOST_CONTEXTS; i++)
		if (etl_claim(&sessions[i].state, ETL_CONTEXT_EMPTY, ETL_CONTEXT_BUSY))
			session = &sessions[i];
	is_full = *is_new && !session;
	if (*is_new && session)
		session->context = context;
	pthread_mutex_unlock(&lock);
	if (is_full)
		etl_range_fail(-ENOSPC);
	return session;
}

static void forget_session(struct etl_range_session *session)
{
	pthread_mutex_lock(&lock);
	session->context = NULL;
	etl_store(&session->state, ETL_CONTEXT_EMPTY);
	pthread_mutex_unlock(&lock);
}

static void let_go(struct etl_range_session *session)
{
	etl_range_session_end(session);
	forget_session(session);
}

/* For the next launch; or lets go of it if there is none to come. */
void etl_range_release(struct etl_range_session *session)
{
	bool is_last;

	pthread_mutex_lock(&lock);
	is_last = is_over;
	if (!is_last)
		etl_store(&session->state, ETL_CONTEXT_READY);
	pthread_mutex_unlock(&lock);
	if (is_last)
		let_go(session);
}

/* While another thread's launch is measured: one that ran meanwhile would be measured with it. */
static bool wait_for(struct etl_range_session *session, bool is_taken)
{
	return etl_context_wait(&session->state, PATIENCE_NS, is_taken);
}

struct etl_range_session *etl_range_take(void *context)
{
	bool is_new;
	struct etl_range_session *session = find_or_make(context, &is_new);
	int64_t code;

	if (!session)
		return NULL;
	if (!is_new) {
		if (wait_for(session, true))
			return session;
		if (!etl_range_has_failed())
			etl_range_leave_out(ETL_LEFT_OUT_OTHER);
		return NULL;
	}
	code = etl_range_session_begin(session, context);
	if (code == 0)
		return session;
	etl_range_fail(code);
	forget_session(session);
	return NULL;
}

void etl_range_await(const void *context)
{
	struct etl_range_session *session = find_locked(context);

	if (session)
		(void)wait_for(session, false);
}

void etl_range_context_ends(const void *context)
{
	struct etl_range_session *session = find_locked(context);

	if (session && wait_for(session, true))
		let_go(session);
}

void etl_range_contexts_open(bool is)
{
	is_open = is;
}

/* One that is measured right now is let go of by whoever measures it. */
void etl_range_contexts_finish(void)
{
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < MOST_CONTEXTS; i++)
		if (etl_claim(&sessions[i].state, ETL_CONTEXT_READY, ETL_CONTEXT_BUSY))
			let_go(&sessions[i]);
}

static void forget_all(void)
{
	etl_range_sessions_forget();
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (int i = 0; i < MOST_CONTEXTS; i++)
		etl_store(&sessions[i].state, ETL_CONTEXT_EMPTY);
}

bool etl_range_contexts_forget(void)
{
	/* After a fork, they are of threads that are not here. */
	if (!etl_injector_is_ours())
		forget_all();
	is_open = is_over = false;
	for (int i = 0; i < MOST_CONTEXTS; i++)
		is_over = is_over || etl_load(&sessions[i].state) != ETL_CONTEXT_EMPTY;
	return !is_over;
}

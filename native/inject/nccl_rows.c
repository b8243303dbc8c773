/* Layouts and states: as in nccl_plugin.c, for versions 4 to 7. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "etl/clock.h"
#include "etl/nccl_events.h"
#include "inject/injector.h"
#include "inject/nccl_rows.h"
#include "inject/recording.h"
#include "inject/row_slot.h"
#include "inject/thread_id.h"

enum {
	ROWS = ETL_NCCL_COLL | ETL_NCCL_P2P_TASK | ETL_NCCL_COPY_COLL | ETL_NCCL_KERNEL_CHANNEL |
	       ETL_NCCL_KERNEL_PHASE,
	CALLS = ETL_NCCL_COLL_API | ETL_NCCL_P2P_API,
};
enum { KERNEL_CHANNEL_STOP = 22, KERNEL_PHASE_STOP = 31 }; /* states */

struct task {
	uint64_t sequence;
	const char *function;
	const void *from;
	void *to;
	size_t count;
	int root;
	const char *datatype;
};

struct descriptor {
	uint64_t type; /* of version 4: its lowest byte */
	void *parent;
	int rank;
	union {
		struct {
			const char *function;
			size_t count;
			const char *datatype;
			int root;
			void *stream;
			bool is_captured;
		} coll_api;
		struct {
			const char *function;
			size_t count;
			const char *datatype;
			void *stream;
			bool is_captured;
		} p2p_api;
		struct {
			void *stream;
		} launch;
		struct {
			struct task task;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
			void *group; /* of version 4: the parent is the group */
		} coll;
		struct {
			const char *function;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;
		} p2p;
		struct task copy;
		struct {
			uint8_t channel;
			uint64_t timer;
		} channel;
		struct {
			uint8_t channel, number;
			const char *name;
			uint64_t timer;
		} phase;
	} of;
};

/* Events that have begun, and calls until they are overwritten, as operations name them later.
 * NCCL gets their numbers as handles: an old one, as graphs that are replayed bring them, finds
 * another number in its place and is not mistaken for a new one. */
#ifndef IN_FLIGHT
#define IN_FLIGHT 8192
#endif

static struct flight {
	uint64_t number; /* 0: none */
	uint32_t type;
	struct etl_nccl_event row;
} flights[IN_FLIGHT];
static uint64_t numbers;
/* Of these; NCCL has several threads, which seldom meet here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etl_row_slot rows = ETL_ROW_SLOT(ETL_NCCL_EVENTS, struct etl_nccl_event);

/* The last launch of the thread's, of which operations are told next. */
static __thread struct {
	uint64_t communicator;
	int64_t start_ns, end_ns;
} launch;
static __thread int64_t last_group_ns; /* when the thread's last group of operations was told */

/* With the lock held, as all that reads or changes them. */
static struct flight *find(const void *handle)
{
	uint64_t number = (uint64_t)(uintptr_t)handle;
	struct flight *flight = &flights[number % IN_FLIGHT];

	return number && flight->number == number ? flight : NULL;
}

static void copy_text(char *to, size_t size, const char *text)
{
	if (text)
		memcpy(to, text, strnlen(text, size));
}

/* The call that asked for an operation: not of one that a graph replays. */
static void take_call(struct etl_nccl_event *row, const void *parent)
{
	const struct flight *call = find(parent);

	if (!call || !(call->type & CALLS))
		return;
	row->known |= ETL_NCCL_HAS_GRAPH;
	row->is_graph = call->row.is_graph;
	row->stream = call->row.stream;
	row->call_start_ns = row->is_graph ? 0 : call->row.start_ns;
}

static void take_launch(struct etl_nccl_event *row, const void *handle, uint16_t version)
{
	const struct flight *group = find(handle);

	if (!group || group->type != ETL_NCCL_GROUP)
		return;
	row->group = group->row.event;
	if (version >= 5 && launch.communicator == row->communicator) {
		row->launch_start_ns = launch.start_ns;
		row->launch_end_ns = launch.end_ns;
	} else if (version < 5) {
		row->launch_start_ns = group->row.launch_start_ns;
		row->launch_end_ns = group->row.launch_end_ns;
	}
}

static void take_task(struct etl_nccl_event *row, const struct task *task)
{
	row->known |= ETL_NCCL_HAS_SEQUENCE | ETL_NCCL_HAS_ROOT;
	row->sequence = task->sequence;
	row->count = task->count;
	row->peer = task->root;
	copy_text(row->function, sizeof row->function, task->function);
	copy_text(row->datatype, sizeof row->datatype, task->datatype);
}

/* False for one that is of no use. */
static bool describe(struct etl_nccl_event *row, uint32_t type, const struct descriptor *told,
		     uint16_t version)
{
	switch (type) {
	case ETL_NCCL_GROUP:
		/* Before version 5 NCCL tells of no launches, but of each group after its own. */
		row->launch_start_ns = last_group_ns ? last_group_ns : 1;
		row->launch_end_ns = row->start_ns;
		return true;
	case ETL_NCCL_KERNEL_LAUNCH:
		launch.communicator = row->communicator;
		launch.start_ns = row->start_ns;
		launch.end_ns = 0;
		return true;
	case ETL_NCCL_COLL_API:
		row->stream = (uint64_t)(uintptr_t)told->of.coll_api.stream;
		row->is_graph = told->of.coll_api.is_captured;
		return true;
	case ETL_NCCL_P2P_API:
		row->stream = (uint64_t)(uintptr_t)told->of.p2p_api.stream;
		row->is_graph = told->of.p2p_api.is_captured;
		return true;
	case ETL_NCCL_COLL:
		row->kind = ETL_NCCL_COLLECTIVE;
		take_task(row, &told->of.coll.task);
		row->channels = told->of.coll.channels;
		row->warps = told->of.coll.warps;
		copy_text(row->algorithm, sizeof row->algorithm, told->of.coll.algorithm);
		copy_text(row->protocol, sizeof row->protocol, told->of.coll.protocol);
		take_launch(row, version < 5 ? told->parent : told->of.coll.group, version);
		break;
	case ETL_NCCL_P2P_TASK:
		row->kind = ETL_NCCL_P2P;
		row->known |= ETL_NCCL_HAS_PEER;
		row->count = told->of.p2p.count;
		row->peer = told->of.p2p.peer;
		row->channels = told->of.p2p.channels;
		copy_text(row->function, sizeof row->function, told->of.p2p.function);
		copy_text(row->datatype, sizeof row->datatype, told->of.p2p.datatype);
		take_launch(row, version < 5 ? told->parent : told->of.p2p.group, version);
		break;
	case ETL_NCCL_COPY_COLL:
		row->kind = ETL_NCCL_COPY;
		take_task(row, &told->of.copy);
		break;
	case ETL_NCCL_KERNEL_CHANNEL:
		row->kind = ETL_NCCL_CHANNEL;
		row->channels = told->of.channel.channel;
		row->gpu_start = told->of.channel.timer;
		row->parent = (uint64_t)(uintptr_t)told->parent;
		return true;
	case ETL_NCCL_KERNEL_PHASE:
		row->kind = ETL_NCCL_PHASE;
		row->channels = told->of.phase.channel;
		row->gpu_start = told->of.phase.timer;
		row->parent = (uint64_t)(uintptr_t)told->parent;
		copy_text(row->function, sizeof row->function, told->of.phase.name);
		return true;
	default:
		return false;
	}
	if (version >= 5)
		take_call(row, told->parent);
	return true;
}

static struct etl_counters *counters(void)
{
	return &etl_injector.map.segment->counters;
}

static void write_row(const struct etl_nccl_event *event)
{
	const struct iovec row = { (void *)(uintptr_t)event, sizeof *event };

	if (!etl_row_slot_write(&rows, &row, 1))
		etl_add(&counters()->nccl_events_lost, 1);
}

/* Ends what would become a row.  With the lock held. */
static struct etl_nccl_event take(struct flight *flight)
{
	flight->number = 0;
	return flight->row;
}

/* The event with a new number, or NULL if it is of no use.  With the lock held. */
static struct flight *begin(const struct etl_nccl_communicator *of, const struct descriptor *told,
			    int64_t now)
{
	uint32_t type = (uint32_t)(of->version < 5 ? told->type & 0xff : told->type);
	struct flight *flight = &flights[++numbers % IN_FLIGHT];

	/* One that is overwritten before its end would have become a row. */
	if (flight->number && flight->type & ROWS)
		etl_add(&counters()->nccl_events_lost, 1);
	*flight = (struct flight){ .type = type,
				   .row = { .event = numbers,
					    .communicator = of->id,
					    .rank = of->rank,
					    .ranks = of->ranks,
					    .version = of->version,
					    .start_ns = now,
					    .thread_id = etl_thread_id() } };
	memcpy(flight->row.name, of->name, sizeof of->name);
	if (!describe(&flight->row, type, told, of->version))
		return NULL;
	flight->number = numbers;
	/* Counted now: if the process is killed before its end, the collector knows. */
	if (type & ROWS)
		etl_add(&counters()->nccl_events, 1);
	return flight;
}

int etl_nccl_start(void *context, void **handle, const void *descriptor)
{
	int saved = errno;
	const struct flight *flight;
	int64_t now;

	*handle = NULL;
	if (!context || !descriptor || !etl_injector_is_ours() || !etl_recording_is_on())
		return 0;
	now = etl_now_ns();
	pthread_mutex_lock(&lock);
	flight = begin(context, descriptor, now);
	if (flight)
		*handle = (void *)(uintptr_t)flight->number;
	pthread_mutex_unlock(&lock);
	errno = saved;
	return 0;
}

int etl_nccl_stop(void *handle)
{
	struct etl_nccl_event row = { .event = 0 };
	struct flight *flight;
	int saved = errno;
	int64_t now;

	if (!handle || !etl_injector_is_ours())
		return 0;
	now = etl_now_ns();
	pthread_mutex_lock(&lock);
	flight = find(handle);
	if (flight && flight->type == ETL_NCCL_KERNEL_LAUNCH) {
		launch.end_ns = now;
	} else if (flight && flight->type == ETL_NCCL_GROUP) {
		last_group_ns = now;
		launch.communicator = 0; /* the next has a launch of its own, or none */
	} else if (flight && flight->type & ROWS) {
		row = take(flight);
		row.end_ns = now;
	}
	pthread_mutex_unlock(&lock);
	if (row.event)
		write_row(&row);
	errno = saved;
	return 0;
}

int etl_nccl_state(void *handle, int number, const void *arguments)
{
	struct flight *flight;

	if (!handle || !arguments || !etl_injector_is_ours() ||
	    (number != KERNEL_CHANNEL_STOP && number != KERNEL_PHASE_STOP))
		return 0;
	pthread_mutex_lock(&lock);
	flight = find(handle);
	if (flight && flight->type & (ETL_NCCL_KERNEL_CHANNEL | ETL_NCCL_KERNEL_PHASE))
		memcpy(&flight->row.gpu_end, arguments, sizeof flight->row.gpu_end);
	pthread_mutex_unlock(&lock);
	return 0;
}

void etl_nccl_flush(void)
{
	etl_row_slot_flush(&rows);
}

/* Places that were ever used: others are not touched, as most programs have no NCCL. */
static size_t places(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = numbers < IN_FLIGHT ? (size_t)numbers + 1 : IN_FLIGHT;
	pthread_mutex_unlock(&lock);
	return n;
}

void etl_nccl_finish(void)
{
	for (size_t i = 0, n = places(); i < n; i++) {
		struct etl_nccl_event row = { .event = 0 };

		pthread_mutex_lock(&lock);
		if (flights[i].number && flights[i].type & ROWS)
			row = take(&flights[i]);
		pthread_mutex_unlock(&lock);
		if (row.event)
			write_row(&row);
	}
}

void etl_nccl_forget(void)
{
	/* A thread of the parent may have held it. */
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (size_t i = 0, n = places(); i < n; i++)
		flights[i].number = 0;
	etl_row_slot_forget(&rows);
}

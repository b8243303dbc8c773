/* What all parts of the injector know.  Everything here runs inside somebody else's program:
 * never print, never abort, never block it, keep errno. */
#pragma once

#include <pthread.h>
#include "etl/segment.h"
#include "etl/wakeup.h"
#include "inject/cupti_api.h"

struct etl_injector {
	struct cupti_api cupti;
	struct etl_map map;
	int socket; /* its closing tells the collector that we ended */
	int memfd; /* of the segment: the way in for a collector that comes later */
	struct etl_wakeup_page *wakeup; /* NULL: there is no memory for it */
	pid_t pid; /* of the process that was set up; a forked child differs */
	/* Held while strings are looked up and slots are published, so that a string is
	 * published before any slot that uses it.  Never held while calling CUPTI. */
	pthread_mutex_t publish;
	/* Of CUPTI's first interface, which has one for the process; NULL: it is not ours. */
	void *subscriber;
	int flush_ms;
	_Atomic bool active; /* callbacks may touch the segment */
};

extern struct etl_injector etl_injector;

/* True in the process that was set up, false in a forked child of it. */
bool etl_injector_is_ours(void);
/* Starts a thread of ours, which nobody waits for and which takes none of the program's signals;
 * 0 or -errno. */
int etl_start_thread(void *(*loop)(void *unused));

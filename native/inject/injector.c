#include <signal.h>
#include <unistd.h>

#include "inject/injector.h"

struct etl_injector etl_injector = { .socket = -1,
				     .memfd = -1,
				     .publish = PTHREAD_MUTEX_INITIALIZER };

bool etl_injector_is_ours(void)
{
	return etl_load(&etl_injector.active) && getpid() == etl_injector.pid;
}

int etl_start_thread(void *(*loop)(void *unused))
{
	pthread_attr_t detached;
	pthread_t thread;
	sigset_t all, before;
	int code;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&thread, &detached, loop, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -code;
}


#include <unistd.h>

#include "inject/injector.h"

struct etl_injector etl_injector = { .socket = -1,
				     .memfd = -1,
				     .publish = PTHREAD_MUTEX_INITIALIZER };

bool etl_injector_is_ours(void)
{
	return etl_load(&etl_injector.active) && getpid() == etl_injector.pid;
}

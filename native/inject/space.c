/* How large a segment may be where the program's limits are tight. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "etl/segment.h"
#include "inject/space.h"

/* What else we take: the stack of the timer's thread, and the heap that the C library
 * reserves for it. */
#define BESIDES (UINT64_C(80) << 20)

/* Bytes of address space that are left to the program. */
static uint64_t space_left(uint64_t limit)
{
	char text[32] = "";
	uint64_t used = limit / 2; /* without /proc nobody knows */
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, text, sizeof text - 1) > 0)
			used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
		close(fd);
	}
	return used < limit ? limit - used : 0;
}

static bool fits(uint32_t steps, uint64_t most)
{
	struct etl_geometry geometry;

	return etl_geometry(steps, &geometry) == 0 && geometry.bytes <= most;
}

uint32_t etl_steps_that_fit(uint32_t wanted, struct etl_error *error)
{
	struct rlimit limit;
	uint64_t left, most;
	uint32_t steps = wanted;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return wanted;
	/* The program must go on as it would alone, so we take little of it. */
	left = space_left(limit.rlim_cur);
	most = left / 8 > BESIDES ? left / 8 - BESIDES : 0;
	while (steps && !fits(steps, most))
		steps--;
	if (!steps)
		etl_fail(error, 0,
			 "the limit of its address space (ulimit -v) leaves it %llu MiB, which is "
			 "too little to take shared memory from; raise it",
			 (unsigned long long)(left >> 20));
	return steps;
}

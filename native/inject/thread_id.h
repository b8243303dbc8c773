/* The kernel's id of the calling thread, as CUPTI gives it where it is asked to. */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline uint32_t etl_thread_id(void)
{
	static __thread uint32_t known;

	if (!known)
		known = (uint32_t)syscall(SYS_gettid);
	return known;
}

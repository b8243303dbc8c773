/* The page that the collector and all traced processes share, from the program's side. */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/descriptors.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

static bool is_alone; /* the page is nobody's but ours */

/* Where a file is the collector's page, and nothing else that has its number in another
 * PID namespace: puts it at `place`, or anywhere. */
static void *map_page(int fd, void *place)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || lseek(fd, 0, SEEK_END) != ETL_WAKEUP_BYTES)
		return MAP_FAILED;
	return mmap(place, ETL_WAKEUP_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
}

struct etl_wakeup_page *etl_wakeup_map(void)
{
	const char *path = etl_env(ETL_ENV_WAKEUP);
	/* Of an earlier session: others hold the pointer. */
	void *before = etl_injector.wakeup, *page = MAP_FAILED;
	int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	if (fd >= 0) {
		page = map_page(fd, before);
		close(fd);
	}
	is_alone = page == MAP_FAILED;
	/* Another user's, or in another PID namespace: the answer to the hello brings it. */
	if (is_alone)
		page = mmap(before, ETL_WAKEUP_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | (before ? MAP_FIXED : 0), -1, 0);
	return page == MAP_FAILED ? NULL : page;
}

void etl_wakeup_receive(int sock)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof control };
	int fd;

	/* The program may have closed the socket, and have one of its own there now. */
	if (!is_alone || !etl_injector.wakeup || !etl_is_kept(sock) ||
	    recvmsg(sock, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1 ||
	    message.msg_controllen < CMSG_LEN(sizeof fd) ||
	    control.header.cmsg_level != SOL_SOCKET || control.header.cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
	/* In the place of ours, so that nobody holds a pointer that has become wrong. */
	is_alone = map_page(fd, etl_injector.wakeup) == MAP_FAILED;
	close(fd);
}

void etl_wakeup_send(void)
{
	if (!etl_injector.wakeup)
		return; /* the collector looks around every few milliseconds anyway */
	/* Release: what was published must be visible to whoever wakes up for it. */
	atomic_fetch_add_explicit(&etl_injector.wakeup->sent, 1, memory_order_release);
	syscall(SYS_futex, &etl_injector.wakeup->sent, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

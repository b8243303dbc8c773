#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "etl/hello.h"
#include "inject/inject.h"
#include "../generated/env.h"

/* What a descriptor that we kept refers to, so that it can be told from another file
 * that has got its number since. */
static struct {
	int fd;
	dev_t device;
	ino_t inode;
} kept[2];

/* fstat(), which older glibc has under another name. */
static long identify(int fd, struct stat *file)
{
	return syscall(SYS_fstat, fd, file);
}

int etl_keep_descriptor(int fd)
{
	struct rlimit limit;
	struct stat file;
	int high = -1, code;

	/* Near the end of what select() can do: programs expect the low numbers for their
	 * own files (what is printed to a closed stdout must not come to us), and some close
	 * or reuse all of them. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, limit.rlim_cur > 1000 ? 960 : limit.rlim_cur / 2);
	if (high < 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	code = -errno;
	close(fd);
	if (high < 0)
		return code;
	for (size_t i = 0; i < sizeof kept / sizeof *kept && identify(high, &file) == 0; i++)
		if (kept[i].inode == 0) {
			kept[i].fd = high;
			kept[i].device = file.st_dev;
			kept[i].inode = file.st_ino;
			break;
		}
	return high;
}

void etl_close_kept(int fd)
{
	struct stat file;

	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (fd >= 0 && kept[i].inode && kept[i].fd == fd && identify(fd, &file) == 0 &&
		    file.st_dev == kept[i].device && file.st_ino == kept[i].inode)
			close(fd);
}

int etl_hello(int fd, const char *reason)
{
	const char *path = etl_env(ETL_ENV_SOCKET);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct etl_hello hello = { .magic = ETL_HELLO_MAGIC,
				   .version = ETL_HELLO_VERSION,
				   .pid = getpid() };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { &hello, sizeof hello };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	int sock, code;

	if (!path || strlen(path) >= sizeof address.sun_path)
		return -ENOENT;
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (reason)
		snprintf(hello.reason, sizeof hello.reason, "%s", reason);
	if (fd >= 0) {
		memset(&control, 0, sizeof control);
		message.msg_control = &control;
		message.msg_controllen = sizeof control.space;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	}
	/* Not blocking: a collector that does not accept must not hold up cuInit.  The
	 * connection waits in its backlog, message and all. */
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	sock = etl_keep_descriptor(sock);
	if (sock < 0)
		return sock;
	if (connect(sock, (struct sockaddr *)&address, sizeof address) < 0 ||
	    sendmsg(sock, &message, MSG_NOSIGNAL) != (ssize_t)sizeof hello) {
		code = errno ? errno : EPIPE;
		close(sock);
		return -code;
	}
	return sock;
}

/* The bell is found beside the socket: PATH.bell, one page for all targets. */
struct etl_bell_page *etl_bell_map(void)
{
	const char *path = etl_env(ETL_ENV_SOCKET);
	char name[sizeof((struct sockaddr_un *)0)->sun_path + 8];
	void *page;
	int fd;

	if (!path || snprintf(name, sizeof name, "%s.bell", path) >= (int)sizeof name)
		return NULL;
	fd = open(name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	page = mmap(NULL, ETL_BELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

void etl_bell_ring(void)
{
	if (!etl_injector.bell)
		return; /* the collector looks around every few milliseconds anyway */
	/* Release: what was published must be visible to whoever wakes up for it. */
	atomic_fetch_add_explicit(&etl_injector.bell->rung, 1, memory_order_release);
	syscall(SYS_futex, &etl_injector.bell->rung, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

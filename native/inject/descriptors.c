/* Descriptors of ours in the program's table, and what to do when it is full. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/descriptors.h"

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

int etl_move_descriptor(int fd)
{
	struct rlimit limit;
	int high = -1;

	/* Near the end of what select() can do: programs expect the low numbers for their
	 * own files (what is printed to a closed stdout must not come to us), and some close
	 * or reuse all of them. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, limit.rlim_cur > 1000 ? 960 : limit.rlim_cur / 2);
	if (high < 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

void etl_keep_descriptor(int fd)
{
	struct stat file;

	for (size_t i = 0; i < sizeof kept / sizeof *kept && identify(fd, &file) == 0; i++)
		if (kept[i].inode == 0) {
			kept[i].fd = fd;
			kept[i].device = file.st_dev;
			kept[i].inode = file.st_ino;
			break;
		}
}

/* Where it is remembered; -1 if it is not, or the program has closed it. */
static int place_of(int fd)
{
	struct stat file;

	for (int i = 0; i < (int)(sizeof kept / sizeof *kept); i++)
		if (fd >= 0 && kept[i].inode && kept[i].fd == fd && identify(fd, &file) == 0 &&
		    file.st_dev == kept[i].device && file.st_ino == kept[i].inode)
			return i;
	return -1;
}

bool etl_is_kept(int fd)
{
	return place_of(fd) >= 0;
}

void etl_close_kept(int fd)
{
	int place = place_of(fd);

	if (place < 0)
		return;
	kept[place].inode = 0;
	close(fd);
}

struct call {
	int (*function)(void *);
	void *argument;
	int code;
};

static int in_another_table(void *argument)
{
	struct call *call = argument;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	call->code = call->function(call->argument);
	return 0;
}

int etl_call_with_room(int (*function)(void *), void *argument)
{
	static _Alignas(64) char stack[1 << 16];
	struct call call = { function, argument, -EAGAIN };
	sigset_t all, before;
	pid_t child;

	/* As vfork() does: it shares our memory and we wait for it, but its table is a copy.
	 * No signal of the program's may be handled there, and none is sent at its end. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	child = clone(in_another_table, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &call);
	if (child < 0)
		call.code = -errno;
	while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return call.code;
}

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "decode/decode.h"

struct etl_bell {
	_Atomic uint32_t *word;
	int fd;
};

struct etl_bell *etl_bell_create(const char *path, char *message)
{
	/* Not a plain file: a traced program that shortened it would kill all others with
	 * SIGBUS.  This one is sealed, and the link to it is only a way to find it. */
	int fd = memfd_create("cupti-etl-bell", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct etl_bell *bell = malloc(sizeof *bell);
	void *page = MAP_FAILED;
	char target[64];

	if (bell && fd >= 0 && ftruncate(fd, 4096) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		snprintf(message, ETL_MESSAGE_BYTES, "no memory for waking up: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		free(bell);
		return NULL;
	}
	bell->word = page;
	bell->fd = fd;
	/* The link goes through the descriptor, which therefore stays open.  A program that
	 * cannot follow it (in another PID namespace) does not ring, and the collector looks
	 * around every few milliseconds anyway. */
	snprintf(target, sizeof target, "/proc/%d/fd/%d", (int)getpid(), fd);
	if (symlink(target, path) < 0) {
		snprintf(message, ETL_MESSAGE_BYTES, "%s: %s", path, strerror(errno));
		etl_bell_free(bell);
		return NULL;
	}
	return bell;
}

uint32_t etl_bell_value(struct etl_bell *bell)
{
	return etl_load(bell->word);
}

void etl_bell_wait(struct etl_bell *bell, uint32_t seen, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, (timeout_ms % 1000) * 1000000L };

	syscall(SYS_futex, bell->word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

void etl_bell_free(struct etl_bell *bell)
{
	munmap(bell->word, 4096);
	close(bell->fd);
	free(bell);
}

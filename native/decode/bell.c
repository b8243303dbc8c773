#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "decode/decode.h"
#include "etl/bell.h"

struct etl_bell {
	struct etl_bell_page *page;
	int fd;
};

struct etl_bell *etl_bell_create(char *message)
{
	/* Not a plain file: a traced program that shortened it would kill all others with
	 * SIGBUS.  This one is sealed. */
	int fd = memfd_create("cupti-etl-bell", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct etl_bell *bell = malloc(sizeof *bell);
	void *page = MAP_FAILED;

	if (bell && fd >= 0 && ftruncate(fd, ETL_BELL_BYTES) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		page = mmap(NULL, ETL_BELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		snprintf(message, ETL_MESSAGE_BYTES, "no memory for waking up: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		free(bell);
		return NULL;
	}
	bell->page = page;
	bell->fd = fd;
	return bell;
}

int etl_bell_fd(const struct etl_bell *bell)
{
	return bell->fd;
}

uint32_t etl_bell_unmet(const struct etl_bell *bell)
{
	return etl_peek(&bell->page->unmet);
}

uint32_t etl_bell_value(struct etl_bell *bell)
{
	return etl_load(&bell->page->rung);
}

void etl_bell_wait(struct etl_bell *bell, uint32_t seen, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, (timeout_ms % 1000) * 1000000L };

	syscall(SYS_futex, &bell->page->rung, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

void etl_bell_pause(struct etl_bell *bell, int is_paused)
{
	etl_put(&bell->page->is_paused, (uint32_t)(is_paused != 0));
	/* Release: whoever wakes up for the new number sees the order. */
	atomic_fetch_add_explicit(&bell->page->orders, 1, memory_order_release);
	syscall(SYS_futex, &bell->page->orders, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void etl_bell_free(struct etl_bell *bell)
{
	munmap(bell->page, ETL_BELL_BYTES);
	close(bell->fd);
	free(bell);
}

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

#include "etl/wakeup.h"

struct etl_wakeup {
	struct etl_wakeup_page *page;
	int fd;
};

struct etl_wakeup *etl_wakeup_create(struct etl_error *error)
{
	/* Not a plain file: a traced program that shortened it would kill all others with
	 * SIGBUS.  This one is sealed. */
	int fd = memfd_create("cupti-etl-wakeup", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct etl_wakeup *wakeup = malloc(sizeof *wakeup);
	void *page = MAP_FAILED;

	if (wakeup && fd >= 0 && ftruncate(fd, ETL_WAKEUP_BYTES) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		page = mmap(NULL, ETL_WAKEUP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		etl_fail(error, errno, "no memory for waking up: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		free(wakeup);
		return NULL;
	}
	wakeup->page = page;
	wakeup->fd = fd;
	return wakeup;
}

int etl_wakeup_fd(const struct etl_wakeup *wakeup)
{
	return wakeup->fd;
}

uint32_t etl_wakeup_unmet(const struct etl_wakeup *wakeup)
{
	return etl_peek(&wakeup->page->unmet);
}

uint32_t etl_wakeup_value(struct etl_wakeup *wakeup)
{
	return etl_load(&wakeup->page->sent);
}

void etl_wakeup_wait(struct etl_wakeup *wakeup, uint32_t seen, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, (timeout_ms % 1000) * 1000000L };

	syscall(SYS_futex, &wakeup->page->sent, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static void order(struct etl_wakeup *wakeup, _Atomic uint32_t *word, uint32_t value)
{
	etl_put(word, value);
	/* Release: whoever wakes up for the new number sees the order. */
	atomic_fetch_add_explicit(&wakeup->page->orders, 1, memory_order_release);
	syscall(SYS_futex, &wakeup->page->orders, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void etl_wakeup_pause(struct etl_wakeup *wakeup, int is_paused)
{
	order(wakeup, &wakeup->page->is_paused, (uint32_t)(is_paused != 0));
}

void etl_wakeup_trial(struct etl_wakeup *wakeup, enum etl_trial trial)
{
	order(wakeup, &wakeup->page->trial, (uint32_t)trial);
}

uint64_t etl_wakeup_launches(const struct etl_wakeup *wakeup)
{
	return etl_load(&wakeup->page->launches);
}

uint64_t etl_wakeup_recorded(const struct etl_wakeup *wakeup)
{
	return etl_load(&wakeup->page->recorded);
}

void etl_wakeup_free(struct etl_wakeup *wakeup)
{
	munmap(wakeup->page, ETL_WAKEUP_BYTES);
	close(wakeup->fd);
	free(wakeup);
}

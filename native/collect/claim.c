/* Whose a segment is: the locks on it, and what an earlier collector left. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "etl/clock.h"
#include "etl/locks.h"
#include "collect/claim.h"

void process_unlock(struct etl_process *process)
{
	if (process->lock >= 0)
		close(process->lock);
	process->lock = -1;
}

int etl_process_claim(struct etl_process *process, int fd, struct etl_error *error)
{
	int mine = etl_reopen(fd), code;

	if (mine < 0)
		return etl_fail(error, -mine, "its segment cannot be opened: %s", strerror(-mine));
	code = etl_lock(mine, ETL_COLLECTOR_LOCK);
	if (code < 0) {
		close(mine);
		return etl_fail(error, -code, "its segment cannot be locked: %s",
				code == -EAGAIN ? "another collector has it" : strerror(-code));
	}
	process->lock = mine;
	process->has_image_lock = etl_is_locked(mine, ETL_IMAGE_LOCK);
	return 0;
}

int etl_process_is_alive(const struct etl_process *process)
{
	if (process->is_loaded || !process->has_image_lock)
		return -1;
	return etl_is_locked(process->lock, ETL_IMAGE_LOCK);
}

void etl_process_resume(struct etl_process *process)
{
	struct etl_segment *header = process->header;

	process->drained_before = etl_load(&header->drained);
#define NOTE(name) process->name##_before = etl_load(&header->name##_drained);
	ETL_EACH_DRAINED(NOTE)
	process->info.orphaned_ns = (int64_t)etl_load(&header->drained_ns);
	if (!process->info.orphaned_ns)
		process->info.orphaned_ns = header->start_ns;
	process->info.adopted_ns = etl_now_ns();
	/* Nobody else drains, so these are the dead collector's.  It may have zeroed a part
	 * of one already, so they cannot be read again; their records are found missing. */
	for (uint64_t slot = 0; slot < process->map.geometry.slots; slot++)
		if (etl_load(&process->map.slots[slot].state) == ETL_DRAINING)
			etl_process_release(process, (int64_t)slot);
	etl_add(&header->strings_wanted, 1);
}

int etl_process_awaits_strings(const struct etl_process *process)
{
	return process->info.adopted_ns && !process->is_loaded &&
	       etl_load(&process->header->strings_sent) !=
		       etl_load(&process->header->strings_wanted);
}

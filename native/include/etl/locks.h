/* Two locks on a segment's memfd, each on one byte of it.
 *
 * They belong to an open description of the file, not to a process, and the kernel gives
 * them up when nothing refers to that description any more: no descriptor and no mapping.
 *
 * ETL_COLLECTOR_LOCK is held through a descriptor by the collector that drains, so that
 * two can never take from one segment.  ETL_IMAGE_LOCK is held by the traced program's
 * image through a mapping alone: closing all descriptors does not give it up, and
 * exec, exit and any signal do.  A child of fork does not inherit it.
 */
#pragma once

#include <stdbool.h>

#include "etl/error.h"

enum { ETL_COLLECTOR_LOCK, ETL_IMAGE_LOCK };

/* A new open description of the same file, close-on-exec; -errno. */
ETL_MUST_CHECK int etl_reopen(int fd);

/* 0, -EAGAIN if another description has the lock, or another -errno. */
ETL_MUST_CHECK int etl_lock(int fd, int which);

/* Whether another description has it; false also if the kernel cannot tell. */
bool etl_is_locked(int fd, int which);

/* Takes the image's lock for as long as this process image lives; without /proc, or with
 * a kernel that refuses, nobody has it. */
void etl_lock_image(int fd);

/* Gives it up: the image goes on, but is done with the segment. */
void etl_unlock_image(void);

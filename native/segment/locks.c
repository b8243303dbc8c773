#include "etl/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct flock byte_of(int which)
{
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = which, .l_len = 1
	};
}

int etl_reopen(int fd)
{
	char path[32];
	int mine;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	mine = open(path, O_RDWR | O_CLOEXEC);
	return mine < 0 ? -errno : mine;
}

int etl_lock(int fd, int which)
{
	struct flock lock = byte_of(which);

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

bool etl_is_locked(int fd, int which)
{
	struct flock lock = byte_of(which);

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void *image_page; /* NULL: this image has no lock */

void etl_lock_image(int fd)
{
	int mine = etl_reopen(fd);
	void *page;

	if (mine < 0)
		return;
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, mine, 0);
	if (page != MAP_FAILED &&
	    (madvise(page, 4096, MADV_DONTFORK) < 0 || etl_lock(mine, ETL_IMAGE_LOCK) < 0))
		munmap(page, 4096);
	else if (page != MAP_FAILED)
		image_page = page;
	close(mine); /* the mapping keeps the lock */
}

void etl_unlock_image(void)
{
	if (image_page)
		munmap(image_page, 4096);
	image_page = NULL;
}

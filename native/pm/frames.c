#include "pm/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

static int send_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes > 0) {
		ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		at += sent;
		bytes -= (size_t)sent;
	}
	return 0;
}

void frames_send(struct frames *frames, uint32_t type, uint32_t device, uint64_t rows,
		 const struct frame_piece *pieces, size_t n)
{
	struct etl_frame head = { .magic = ETL_FRAME_MAGIC, .type = type, .device = device,
		.rows = rows };
	int result;

	for (size_t i = 0; i < n; i++)
		head.bytes += pieces[i].bytes;
	/* Threads of several devices write here: a frame must not stand inside another. */
	pthread_mutex_lock(&frames->lock);
	/* Relaxed: all that hangs on it is whether to try once more in vain. */
	if (!atomic_load_explicit(&frames->is_gone, memory_order_relaxed)) {
		result = send_all(frames->fd, &head, sizeof head);
		for (size_t i = 0; i < n && result == 0; i++)
			result = send_all(frames->fd, pieces[i].data, pieces[i].bytes);
		if (result)
			atomic_store_explicit(&frames->is_gone, true, memory_order_relaxed);
	}
	pthread_mutex_unlock(&frames->lock);
}

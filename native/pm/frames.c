
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pm/frames.h"

/* A frame, or the end of one. */
struct frame_block {
	struct frame_block *next;
	size_t at, bytes;
	uint8_t data[];
};

void frames_init(struct frames *frames, size_t most)
{
	memset(frames, 0, sizeof *frames);
	frames->fd = -1;
	frames->most = most;
	frames->last = &frames->first;
	pthread_mutex_init(&frames->lock, NULL);
	pthread_cond_init(&frames->sent, NULL);
}

static void drop_first(struct frames *frames)
{
	struct frame_block *block = frames->first;

	frames->first = block->next;
	if (!frames->first)
		frames->last = &frames->first;
	frames->waiting -= block->bytes;
	free(block);
}

void frames_free(struct frames *frames)
{
	while (frames->first)
		drop_first(frames);
	pthread_cond_destroy(&frames->sent);
	pthread_mutex_destroy(&frames->lock);
}

/* How many bytes the socket took; the lock is held, here and below. */
static size_t send_some(struct frames *frames, const uint8_t *data, size_t bytes)
{
	size_t done = 0;

	while (done < bytes && !frames->is_gone) {
		ssize_t sent = send(frames->fd, data + done, bytes - done,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent >= 0)
			done += (size_t)sent;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
		else if (errno != EINTR)
			frames->is_gone = true;
	}
	return done;
}

static void push(struct frames *frames)
{
	while (frames->first && !frames->is_gone) {
		struct frame_block *block = frames->first;

		block->at += send_some(frames, block->data + block->at, block->bytes - block->at);
		if (block->at < block->bytes)
			break;
		drop_first(frames);
	}
	while (frames->is_gone && frames->first)
		drop_first(frames);
	pthread_cond_broadcast(&frames->sent);
}

bool frames_push(struct frames *frames)
{
	bool more;

	pthread_mutex_lock(&frames->lock);
	push(frames);
	more = frames->first;
	pthread_mutex_unlock(&frames->lock);
	return more;
}

void frames_finish(struct frames *frames)
{
	while (frames_push(frames))
		poll(&(struct pollfd){ .fd = frames->fd, .events = POLLOUT }, 1, 100);
}

static struct frame_block *new_block(size_t bytes)
{
	struct frame_block *block = malloc(sizeof *block + bytes);

	if (block)
		*block = (struct frame_block){ .bytes = bytes };
	return block;
}

void frames_send(struct frames *frames, uint32_t type, uint32_t device, uint64_t rows,
		 const struct frame_piece *pieces, size_t n)
{
	struct etl_frame head = { .magic = ETL_FRAME_MAGIC, .type = type, .device = device,
		.rows = rows };
	struct frame_block *block;
	uint8_t *at;

	for (size_t i = 0; i < n; i++)
		head.bytes += pieces[i].bytes;
	block = new_block(sizeof head + head.bytes);
	pthread_mutex_lock(&frames->lock);
	/* Threads of several devices write here: a frame must not stand inside another. */
	while (!frames->is_gone && frames->first &&
	       (!block || frames->waiting + block->bytes > frames->most)) {
		pthread_cond_wait(&frames->sent, &frames->lock);
		if (!block)
			block = new_block(sizeof head + head.bytes);
	}
	if (!block || frames->is_gone) {
		/* Without memory for a frame, when none waits: as good as without a reader. */
		frames->is_gone = true;
		pthread_mutex_unlock(&frames->lock);
		free(block);
		return;
	}
	memcpy(block->data, &head, sizeof head);
	at = block->data + sizeof head;
	for (size_t i = 0; i < n; i++) {
		memcpy(at, pieces[i].data, pieces[i].bytes);
		at += pieces[i].bytes;
	}
	*frames->last = block;
	frames->last = &block->next;
	frames->waiting += block->bytes;
	push(frames);
	pthread_mutex_unlock(&frames->lock);
}

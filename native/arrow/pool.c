#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/pool.h"

/* Batches come and go with buffers of the same few sizes.  Giving their pages back to
 * the system and faulting fresh ones in costs more than decoding, so freed buffers are
 * kept, up to a limit.  Arrow releases from any thread, hence the lock; it is taken a
 * few dozen times a batch. */
#define MAX_KEPT 512
#define MAX_KEPT_BYTES ((size_t)64 << 20)

/* In front of each buffer; 64 bytes, so that the buffer is aligned as Arrow likes it. */
struct head {
	_Alignas(64) size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *kept[MAX_KEPT];
static unsigned n_kept;
static size_t kept_bytes;

size_t pool_size(size_t least)
{
	size_t size = 256;

	while (size < least)
		size *= 2;
	return size;
}

void *pool_get(size_t size)
{
	struct head *head = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned i = n_kept; i-- > 0;)
		if (kept[i]->size == size) {
			head = kept[i];
			kept[i] = kept[--n_kept];
			kept_bytes -= size;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (!head)
		head = aligned_alloc(64, sizeof *head + size);
	if (!head)
		return NULL;
	head->size = size;
	return head + 1;
}

void *pool_resize(void *old, size_t used, size_t size)
{
	void *fresh = pool_get(size);

	if (fresh && used)
		memcpy(fresh, old, used);
	if (fresh)
		pool_put(old);
	return fresh;
}

void pool_put(const void *buffer)
{
	struct head *head;

	if (!buffer)
		return;
	head = (struct head *)(uintptr_t)buffer - 1;
	pthread_mutex_lock(&lock);
	if (n_kept < MAX_KEPT && kept_bytes + head->size <= MAX_KEPT_BYTES) {
		kept[n_kept++] = head;
		kept_bytes += head->size;
		head = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(head);
}

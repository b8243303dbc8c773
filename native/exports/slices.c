/* Slices of a track that cross others: a viewer nests slices, and would end the wrong one. */
#include <errno.h>
#include <stdlib.h>

#include "arrow/ids.h"
#include "etl/exports.h"

/* Ends of what is open, the innermost last. */
struct track {
	int64_t *ends;
	size_t n, capacity;
};

struct etl_slices {
	ITEMS(struct track) tracks;
	int64_t crossing;
};

struct etl_slices *etl_slices_new(void)
{
	return calloc(1, sizeof(struct etl_slices));
}

void etl_slices_free(struct etl_slices *slices)
{
	if (!slices)
		return;
	for (size_t i = 0; i < slices->tracks.ids.n; i++)
		free(slices->tracks.all[i].ends);
	FREE_ITEMS(slices->tracks);
	free(slices);
}

/* The slice's number, if it crosses; -ENOMEM. */
static int64_t add_slice(struct etl_slices *slices, int64_t key, int64_t start, int64_t end)
{
	struct track *track = ITEM_OF(slices->tracks, 1, &key);

	if (!track)
		return -ENOMEM;
	while (track->n && track->ends[track->n - 1] <= start)
		track->n--;
	if (track->n && track->ends[track->n - 1] < end)
		return ++slices->crossing;
	if (GROW(track->ends, track->n, track->capacity))
		return -ENOMEM;
	track->ends[track->n++] = end;
	return 0;
}

int etl_slices_add(struct etl_slices *slices, struct ArrowArray *batch, int64_t *crossing)
{
	const int64_t *columns[3];
	int result = batch->n_children == 3 ? 0 : -EINVAL;

	for (int64_t c = 0; !result && c < 3; c++) {
		const struct ArrowArray *child = batch->children[c];

		if (child->n_buffers != 2 || child->null_count > 0)
			result = -EINVAL;
		else
			columns[c] = (const int64_t *)child->buffers[1] + child->offset +
				     batch->offset;
	}
	for (int64_t i = 0; !result && i < batch->length; i++) {
		crossing[i] = add_slice(slices, columns[0][i], columns[1][i], columns[2][i]);
		if (crossing[i] < 0)
			result = -ENOMEM;
	}
	if (batch->release)
		batch->release(batch);
	return result;
}

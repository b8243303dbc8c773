#include <stdlib.h>
#include <string.h>

#include "etl/hash.h"
#include "arrow/ids.h"
#include "decode/text.h"

/* In `indexes`: see text_mark(). */
#define MARKED (UINT32_C(1) << 31)

static size_t find(const struct text_table *texts, uint64_t id)
{
	size_t i = id & texts->mask;

	while (texts->ids[i] && texts->ids[i] != id)
		i = (i + 1) & texts->mask;
	return i;
}

static bool grow_index(struct text_table *texts)
{
	struct text_table next = *texts;

	if (texts->ids && texts->count * 2 < texts->mask)
		return true;
	next.mask = texts->ids ? texts->mask * 2 + 1 : 1023;
	next.ids = calloc(next.mask + 1, sizeof *next.ids);
	next.indexes = calloc(next.mask + 1, sizeof *next.indexes);
	if (!next.ids || !next.indexes) {
		free(next.ids);
		free(next.indexes);
		return false;
	}
	for (size_t i = 0; texts->ids && i <= texts->mask; i++)
		if (texts->ids[i]) {
			size_t at = find(&next, texts->ids[i]);

			next.ids[at] = texts->ids[i];
			next.indexes[at] = texts->indexes[i];
		}
	free(texts->ids);
	free(texts->indexes);
	*texts = next;
	return true;
}

static bool grow_texts(struct text_table *texts, size_t more)
{
	if (texts->count + 1 >= texts->capacity) {
		uint32_t capacity = texts->capacity ? texts->capacity * 2 : 1024;
		size_t *starts = realloc(texts->starts, (capacity + 1) * sizeof *starts);

		if (!starts)
			return false;
		texts->starts = starts;
		texts->capacity = capacity;
	}
	if (texts->bytes_used + more > texts->bytes_size) {
		size_t size = texts->bytes_used + texts->bytes_used / 2 + more + 4096;
		char *bytes = realloc(texts->bytes, size);

		if (!bytes)
			return false;
		texts->bytes = bytes;
		texts->bytes_size = size;
	}
	return true;
}

uint32_t text_find(const struct text_table *texts, uint64_t id)
{
	size_t i;

	if (!id || !texts->ids)
		return NO_TEXT;
	i = find(texts, id);
	return texts->ids[i] ? texts->indexes[i] & ~MARKED : NO_TEXT;
}

bool text_mark(struct text_table *texts, uint64_t id)
{
	size_t i = find(texts, id);
	bool was_marked = texts->indexes[i] & MARKED;

	texts->indexes[i] |= MARKED;
	return !was_marked;
}

uint32_t text_add(struct text_table *texts, const char *bytes, size_t length)
{
	uint64_t id = etl_hash(bytes, length);
	uint32_t index = text_find(texts, id);
	size_t at;

	if (index != NO_TEXT)
		return index;
	if (texts->count >= MOST_TEXTS || texts->bytes_used + length > MOST_TEXT_BYTES) {
		texts->is_full = true;
		return NO_TEXT;
	}
	/* Never none: NULL + 0 is undefined. */
	if (!grow_index(texts) || !grow_texts(texts, length + 1))
		return NO_TEXT;
	at = find(texts, id);
	index = texts->count++;
	texts->ids[at] = id;
	texts->indexes[at] = index;
	texts->starts[index] = texts->bytes_used;
	if (length)
		memcpy(texts->bytes + texts->bytes_used, bytes, length);
	texts->bytes_used += length;
	texts->starts[index + 1] = texts->bytes_used;
	return index;
}

void text_free(struct text_table *texts)
{
	free(texts->bytes);
	free(texts->starts);
	free(texts->ids);
	free(texts->indexes);
	memset(texts, 0, sizeof *texts);
}

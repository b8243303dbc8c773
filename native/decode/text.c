#include <stdlib.h>
#include <string.h>

#include "etl/hash.h"
#include "decode/text.h"

static bool grow_texts(struct text_table *texts, size_t more)
{
	if (texts->ids.n + 1 >= texts->capacity) {
		uint32_t capacity = texts->capacity ? texts->capacity * 2 : 1024;
		size_t *starts = realloc(texts->starts, (capacity + 1) * sizeof *starts);
		bool *is_marked;

		if (!starts)
			return false;
		texts->starts = starts;
		is_marked = realloc(texts->is_marked, capacity * sizeof *is_marked);
		if (!is_marked)
			return false;
		texts->is_marked = is_marked;
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

uint32_t text_find(struct text_table *texts, uint64_t id)
{
	int64_t text = id ? ids_find(&texts->ids, (const int64_t[]){ (int64_t)id }) : -1;

	return text < 0 ? NO_TEXT : (uint32_t)text;
}

bool text_mark(struct text_table *texts, uint32_t text)
{
	bool was_marked = texts->is_marked[text];

	texts->is_marked[text] = true;
	return !was_marked;
}

uint32_t text_add(struct text_table *texts, const char *bytes, size_t length)
{
	uint64_t id = etl_hash(bytes, length);
	uint32_t found;
	int64_t text;

	texts->ids.width = 1;
	found = text_find(texts, id);
	if (found != NO_TEXT)
		return found;
	if (texts->ids.n >= MOST_TEXTS || texts->bytes_used + length > MOST_TEXT_BYTES) {
		texts->is_full = true;
		return NO_TEXT;
	}
	/* Never none: NULL + 0 is undefined. */
	if (!grow_texts(texts, length + 1))
		return NO_TEXT;
	text = ids_of(&texts->ids, (const int64_t[]){ (int64_t)id });
	if (text < 0)
		return NO_TEXT;
	texts->is_marked[text] = false;
	texts->starts[text] = texts->bytes_used;
	if (length)
		memcpy(texts->bytes + texts->bytes_used, bytes, length);
	texts->bytes_used += length;
	texts->starts[text + 1] = texts->bytes_used;
	return (uint32_t)text;
}

void text_free(struct text_table *texts)
{
	free(texts->bytes);
	free(texts->starts);
	free(texts->is_marked);
	ids_free(&texts->ids);
	memset(texts, 0, sizeof *texts);
}

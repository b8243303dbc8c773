#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "etl/hash.h"

/* Length of the valid UTF-8 sequence at p, or 0 (RFC 3629, table 3-7 of Unicode). */
static size_t sequence_length(const uint8_t *p, size_t left)
{
	uint8_t a = p[0];

	if (a < 0x80)
		return 1;
	if (a >= 0xC2 && a <= 0xDF)
		return left >= 2 && (p[1] & 0xC0) == 0x80 ? 2 : 0;
	if (a >= 0xE0 && a <= 0xEF) {
		uint8_t least = a == 0xE0 ? 0xA0 : 0x80, most = a == 0xED ? 0x9F : 0xBF;

		return left >= 3 && p[1] >= least && p[1] <= most && (p[2] & 0xC0) == 0x80 ? 3 : 0;
	}
	if (a >= 0xF0 && a <= 0xF4) {
		uint8_t least = a == 0xF0 ? 0x90 : 0x80, most = a == 0xF4 ? 0x8F : 0xBF;

		return left >= 4 && p[1] >= least && p[1] <= most && (p[2] & 0xC0) == 0x80 &&
				       (p[3] & 0xC0) == 0x80 ?
			       4 :
			       0;
	}
	return 0;
}

/* Copies, with U+FFFD for each byte that is not UTF-8; `out` has three times the room. */
static size_t to_utf8(char *out, const char *bytes, size_t length)
{
	const uint8_t *p = (const uint8_t *)bytes;
	size_t n = 0;

	for (size_t i = 0; i < length;) {
		size_t step = sequence_length(p + i, length - i);

		if (step) {
			memcpy(out + n, p + i, step);
			n += step;
			i += step;
		} else {
			memcpy(out + n, "\xEF\xBF\xBD", 3);
			n += 3;
			i += 1;
		}
	}
	return n;
}

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
		size_t size = (texts->bytes_used + more) * 2;
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
	return texts->ids[i] ? texts->indexes[i] : NO_TEXT;
}

uint32_t text_add(struct text_table *texts, const char *bytes, size_t length)
{
	uint64_t id = etl_hash(bytes, length);
	uint32_t index = text_find(texts, id);
	size_t at;

	if (index != NO_TEXT)
		return index;
	/* Never none: NULL + 0 is undefined. */
	if (!grow_index(texts) || !grow_texts(texts, length * 3 + 1))
		return NO_TEXT;
	at = find(texts, id);
	index = texts->count++;
	texts->ids[at] = id;
	texts->indexes[at] = index;
	texts->starts[index] = texts->bytes_used;
	texts->bytes_used += to_utf8(texts->bytes + texts->bytes_used, bytes, length);
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

/* The texts of a column, or of a process, in the form of an Arrow array of strings. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/array.h"
#include "arrow/dictionary.h"
#include "arrow/ids.h"
#include "arrow/pool.h"

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

int dictionary_begin(struct dictionary *dictionary, uint64_t process)
{
	if (dictionary->process == process)
		return 0;
	if (!dictionary->recent)
		dictionary->recent = calloc(RECENT, sizeof *dictionary->recent);
	if (!dictionary->recent)
		return -ENOMEM;
	/* The same value may stand for another text in another process. */
	dictionary->process = process;
	dictionary->epoch++;
	return 0;
}

static void *larger(void *old, size_t used, size_t least, size_t *size)
{
	*size = pool_size(least);
	return pool_resize(old, used, *size);
}

static bool grow_texts(struct dictionary *dictionary, size_t more)
{
	size_t size, count = dictionary->ids.n;

	/* Both are there from the first on, as Arrow wants them of an empty array, too. */
	if (!dictionary->offsets || count + 1 >= dictionary->capacity) {
		int32_t *offsets = larger(dictionary->offsets,
					  dictionary->offsets ?
						  (count + 1) * sizeof *offsets :
						  0,
					  (count + 2) * sizeof *offsets, &size);

		if (!offsets)
			return false;
		if (!dictionary->offsets)
			offsets[0] = 0;
		dictionary->offsets = offsets;
		dictionary->capacity = size / sizeof *offsets;
	}
	if (!dictionary->bytes || dictionary->bytes_used + more > dictionary->bytes_size) {
		char *bytes = larger(dictionary->bytes, dictionary->bytes_used,
				     dictionary->bytes_used + more, &size);

		if (!bytes)
			return false;
		dictionary->bytes = bytes;
		dictionary->bytes_size = size;
	}
	return true;
}

static int32_t add(struct dictionary *dictionary, uint64_t id, const char *bytes, size_t length,
		   bool is_text)
{
	const int64_t key = (int64_t)id;
	int64_t entry;

	dictionary->ids.width = 1;
	entry = ids_find(&dictionary->ids, &key);
	if (entry >= 0)
		return (int32_t)entry;
	/* Offsets have 32 bits; a byte that is not UTF-8 becomes three. */
	if (length > (INT32_MAX - dictionary->bytes_used) / 3)
		return DICTIONARY_FULL;
	if (!grow_texts(dictionary, length * 3))
		return DICTIONARY_NO_MEMORY;
	entry = ids_of(&dictionary->ids, &key);
	if (entry < 0)
		return DICTIONARY_NO_MEMORY;
	if (is_text) {
		length = to_utf8(dictionary->bytes + dictionary->bytes_used, bytes, length);
	} else {
		memcpy(dictionary->bytes + dictionary->bytes_used, bytes, length);
	}
	dictionary->bytes_used += length;
	dictionary->offsets[entry + 1] = (int32_t)dictionary->bytes_used;
	return (int32_t)entry;
}

int32_t dictionary_add(struct dictionary *dictionary, uint64_t id, const char *text, size_t length)
{
	return add(dictionary, id, text, length, true);
}

int32_t dictionary_add_bytes(struct dictionary *dictionary, uint64_t id, const void *bytes,
			     size_t length)
{
	return add(dictionary, id, bytes, length, false);
}

struct ArrowArray *dictionary_take(struct dictionary *dictionary)
{
	struct ArrowArray *array;

	if (!grow_texts(dictionary, 0))
		return NULL;
	array = new_array((int64_t)dictionary->ids.n, 3);
	if (!array)
		return NULL;
	array->buffers[1] = dictionary->offsets;
	array->buffers[2] = dictionary->bytes;
	dictionary->offsets = NULL;
	dictionary->bytes = NULL;
	dictionary->bytes_used = dictionary->bytes_size = 0;
	dictionary->capacity = 0;
	ids_clear(&dictionary->ids);
	dictionary->epoch++;
	return array;
}

void dictionary_free(struct dictionary *dictionary)
{
	pool_put(dictionary->bytes);
	pool_put(dictionary->offsets);
	free(dictionary->recent);
	ids_free(&dictionary->ids);
	memset(dictionary, 0, sizeof *dictionary);
}

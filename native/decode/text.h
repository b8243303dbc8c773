/* The strings of a process that its records may use, once, as they came. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrow/ids.h"

struct text_table {
	char *bytes;
	size_t bytes_used, bytes_size;
	size_t *starts; /* starts[i]..starts[i + 1] is text i */
	bool *is_marked;
	uint32_t capacity;
	struct ids ids; /* numbers of texts, by content key */
	bool is_full; /* a text was not taken for that reason */
};

#define NO_TEXT UINT32_MAX
/* Of a process that never says that strings are done with (see ETL_STRINGS_FORGET), as the
 * injected library does long before that. */
#define MOST_TEXTS (UINT32_C(1) << 20)
#define MOST_TEXT_BYTES ((size_t)64 << 20)

/* The text's number, adding it if it is new; NO_TEXT if there is no memory, or if the table
 * is full. */
uint32_t text_add(struct text_table *texts, const char *bytes, size_t length);
uint32_t text_find(struct text_table *texts, uint64_t id);
/* Whether a text is marked for the first time. */
bool text_mark(struct text_table *texts, uint32_t text);
void text_free(struct text_table *texts);

/* The code objects that stacks of a process name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrow/ids.h"
#include "etl/error.h"

struct stack_codes {
	struct ids ids; /* by id */
	uint8_t **all; /* their entries, each struct etl_python_code and what follows */
	size_t capacity, bytes;
	struct ids stacks; /* those that have rows */
	struct ids missed; /* those that came before their code, for a collector that came later */
	size_t resolved; /* of these, that came again */
};

/* What a function is called; pointers into the entry. */
struct stack_code {
	const char *file, *function;
	uint32_t file_bytes, function_bytes;
	uint32_t first_line;
};

/* Keeps an entry: 1, 0 if it is damaged, -ENOSPC if there are too many, -ENOMEM. */
ETL_MUST_CHECK int stack_codes_add(struct stack_codes *codes, uint64_t id, const uint8_t *entry,
				   size_t bytes);
/* What is known of a place in code; false if the code is not known.  `*line` is 0 where the
 * code does not say. */
bool stack_codes_find(struct stack_codes *codes, uint64_t id, uint32_t at, struct stack_code *out,
		      int32_t *line);
/* Stacks that have no rows, as their code never came. */
static inline uint64_t stack_codes_missed(const struct stack_codes *codes)
{
	return codes->missed.n - codes->resolved;
}
bool stack_codes_have(struct stack_codes *codes, uint64_t id);
void stack_codes_free(struct stack_codes *codes);

/* The CPython of this process, read without its help: whoever launches may have given up the
 * GIL, but it is inside a call, so that its own frames stand still. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "etl/stacks.h"

/* Where one frame stands. */
struct etl_python_place {
	const uint8_t *code; /* a PyCodeObject */
	const uint8_t *instruction;
};

/* Looks for an interpreter, until one is found: one can be loaded later. */
void etl_python_look(void);
/* Why the one that was found is not read; NULL if it is. */
const char *etl_python_obstacle(void);

/* The calling thread's frames, innermost first, at most ETL_MOST_FRAMES. */
enum etl_stack_state etl_python_places(struct etl_python_place *places, unsigned *n);
/* A number that changes when a code object's memory becomes another's. */
uint64_t etl_python_version(const uint8_t *code);
/* What a code object says, as an entry of ETL_PYTHON_CODE; its bytes; 0 if it is none,
 * or does not fit. */
size_t etl_python_code(const uint8_t *code, uint8_t *out, size_t size);
uint32_t etl_python_at(const struct etl_python_place *place);

/* Calls it when Python has ended, if this process is `python`: one that Ctrl-C has ended is killed
 * by that signal then, and never gets to exit(). */
void etl_python_at_end(void (*function)(void));

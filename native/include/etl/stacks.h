/* The Python stacks of calls, in band.
 *
 * A slot of content ETL_LAUNCH_STACKS holds one `struct etl_launch_stack` a call.  What the
 * stacks consist of travels as strings (see etl/strings.h) with a flag:
 *
 *	ETL_PYTHON_CODE   struct etl_python_code, then the file's name, the function's
 *	                  qualified name and the line table, without anything between them
 *	ETL_PYTHON_STACK  struct etl_python_frame, the innermost first
 *
 * A string's id is the hash of its bytes, so that a stack has the same id wherever it is
 * met.  Each code comes before the first stack that names it. */
#pragma once

#include <stdint.h>

enum { ETL_PYTHON_CODE = 8, ETL_PYTHON_STACK = 16 };

/* Frames of a stack that are kept, the innermost ones. */
#define ETL_MOST_FRAMES 256

/* What became of a call's stack. */
enum etl_stack_state {
	ETL_STACK_WHOLE,
	ETL_STACK_CUT, /* it has more than ETL_MOST_FRAMES */
	ETL_STACK_NO_FRAMES, /* a thread of Python's that runs none, as autograd's do */
	ETL_STACK_NO_PYTHON, /* a thread that Python does not know */
	ETL_STACK_UNREADABLE, /* the interpreter is not one that we know, or ends */
	ETL_STACK_NO_ROOM, /* for what the stack consists of */
	ETL_N_STACK_STATES,
};

struct etl_launch_stack {
	uint64_t stack_id; /* 0: none, `state` says why */
	uint32_t correlation_id;
	uint32_t state; /* enum etl_stack_state */
};

struct etl_python_code {
	uint32_t first_line;
	uint32_t file_bytes, function_bytes, table_bytes;
};

struct etl_python_frame {
	uint64_t code_id;
	uint32_t at; /* byte of the instruction in the function's code; ETL_NOWHERE: before it */
	uint32_t reserved;
};

#define ETL_NOWHERE UINT32_MAX

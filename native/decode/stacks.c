#include <errno.h>
#include <string.h>

#include "decode/gather.h"
#include "decode/stacks.h"
#include "etl/hash.h"
#include "etl/stacks.h"

/* As many stacks of a process have rows. */
#define MOST_STACKS ((size_t)1 << 20)

static const char *const states[] = {
	[ETL_STACK_WHOLE] = "whole",		 [ETL_STACK_CUT] = "cut",
	[ETL_STACK_NO_FRAMES] = "no_frames",	 [ETL_STACK_NO_PYTHON] = "no_python",
	[ETL_STACK_UNREADABLE] = "unreadable", [ETL_STACK_NO_ROOM] = "no_room",
};

struct value stack_state(struct etl_process *process, int table, uint32_t column, uint32_t state)
{
	return row_word(process, table, column, states[state]);
}

enum { CALL_PROCESS, CALL_CORRELATION, CALL_STACK, CALL_STATE, CALL_COLUMNS };
_Static_assert(sizeof launch_stack_columns / sizeof *launch_stack_columns == CALL_COLUMNS,
	       "the columns of launch_stack");

static int add_call(struct etl_process *process, const void *entry)
{
	const struct etl_launch_stack *call = entry;
	uint64_t id = nearest_id(process->last_correlation, call->correlation_id);
	struct value row[CALL_COLUMNS] = {
		[CALL_PROCESS] = KNOWN(process->process_id),
		[CALL_CORRELATION] = KNOWN(id),
		[CALL_STACK] = known_if(call->stack_id, call->stack_id),
	};

	if (call->state >= ETL_N_STACK_STATES || !call->correlation_id) {
		process->decoded.damaged_stacks++;
		return 0;
	}
	row[CALL_STATE] = stack_state(process, ETL_TABLE_LAUNCH_STACK, CALL_STATE, call->state);
	process->last_correlation = id;
	return row_add(process, ETL_TABLE_LAUNCH_STACK, row, &process->decoded.stacks);
}

int decode_launch_stacks(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	return decode_entries(process, data, bytes, sizeof(struct etl_launch_stack), add_call);
}

enum { FRAME_PROCESS, FRAME_STACK, FRAME_DEPTH, FRAME_FUNCTION, FRAME_FILE, FRAME_LINE, FRAME_FIRST,
       FRAME_COLUMNS };
_Static_assert(sizeof python_stack_columns / sizeof *python_stack_columns == FRAME_COLUMNS,
	       "the columns of python_stack");

static int add_frame(struct etl_process *process, uint64_t stack_id, uint32_t depth,
		     const struct etl_python_frame *frame)
{
	struct stack_code code;
	int32_t line;
	struct value row[FRAME_COLUMNS] = {
		[FRAME_PROCESS] = KNOWN(process->process_id),
		[FRAME_STACK] = KNOWN(stack_id),
		[FRAME_DEPTH] = KNOWN(depth),
	};

	if (stack_codes_find(&process->codes, frame->code_id, frame->at, &code, &line)) {
		row[FRAME_FUNCTION] = row_text(process, ETL_TABLE_PYTHON_STACK, FRAME_FUNCTION,
						 code.function, code.function_bytes);
		row[FRAME_FILE] = row_text(process, ETL_TABLE_PYTHON_STACK, FRAME_FILE, code.file,
					     code.file_bytes);
		row[FRAME_LINE] = (struct value){ line, line > 0 };
		row[FRAME_FIRST] = KNOWN(code.first_line);
	}
	if (row_add(process, ETL_TABLE_PYTHON_STACK, row, NULL) < 0)
		return -ENOMEM;
	return process->lacks_memory ? -ENOMEM : 0;
}

/* Whether all code of a stack is known. */
static bool has_code(struct etl_process *process, const struct etl_string_entry *entry,
		     const uint8_t *bytes)
{
	struct etl_python_frame frame;

	for (uint64_t at = 0; at < entry->length; at += sizeof frame) {
		memcpy(&frame, bytes + at, sizeof frame);
		if (!stack_codes_have(&process->codes, frame.code_id))
			return false;
	}
	return true;
}

/* For a collector that came later, what was published before comes again: stacks that have their
 * rows, and code that was missed. */
static int add_stack(struct etl_process *process, const struct etl_string_entry *entry,
		     const uint8_t *bytes)
{
	const int64_t key[] = { (int64_t)entry->id };
	struct ids *known = &process->codes.stacks;
	uint64_t n = entry->length / sizeof(struct etl_python_frame);
	struct etl_python_frame frame;

	known->width = process->codes.missed.width = 1;
	if (n == 0 || n > ETL_MOST_FRAMES || n * sizeof frame != entry->length) {
		process->decoded.damaged_stacks++;
		return 0;
	}
	if (ids_find(known, key) >= 0)
		return 0;
	if (known->n >= MOST_STACKS) {
		process->decoded.cut_stacks++;
		return 0;
	}
	if (!has_code(process, entry, bytes))
		return ids_of(&process->codes.missed, key) < 0 ? -ENOMEM : 0;
	if (ids_of(known, key) < 0)
		return -ENOMEM;
	process->codes.resolved += ids_find(&process->codes.missed, key) >= 0;
	for (uint32_t depth = 0; depth < n; depth++) {
		memcpy(&frame, bytes + depth * sizeof frame, sizeof frame);
		if (add_frame(process, entry->id, depth, &frame) < 0)
			return -ENOMEM;
	}
	return 0;
}

int add_stack_entry(struct etl_process *process, const struct etl_string_entry *entry,
		    const uint8_t *bytes)
{
	int code;

	if (entry->flags & ETL_PYTHON_STACK)
		return add_stack(process, entry, bytes);
	code = stack_codes_add(&process->codes, entry->id, bytes, entry->length);
	process->decoded.damaged_stacks += code == 0;
	process->decoded.cut_stacks += code == -ENOSPC;
	return code == -ENOMEM ? code : 0;
}

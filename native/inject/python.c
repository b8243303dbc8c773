#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "etl/atomics.h"
#include "etl/hash.h"
#include "etl/utf8.h"
#include "inject/python.h"

/* Offsets; where they are published, first the places of those in _PyRuntime. */
struct etl_python_layout {
	int minor, is_published, is_read_without_gil;
	int thread_frame, frame_in; /* frame_in: what is between the two; -1: nothing */
	int frame_previous, frame_code, frame_instruction, frame_owner;
	int code_file, code_function, code_table, code_first_line, code_instructions;
	int code_version; /* from the first line on; -1: there is none */
	int object_type, bytes_size, bytes_data;
	int text_length, text_state, text_ascii, text_wide_more;
	int kind_bit, compact_bit, ascii_bit;
};

#include "../generated/pythons.inc"

/* Owners of frames: thread, generator, frame object, and from here on others. */
#define OWNED_BY_INTERPRETER 3

#define N_LAYOUTS (sizeof etl_python_layouts / sizeof *etl_python_layouts)
/* No text of a program's is longer; what is, is cut. */
#define MOST_FILE 4096
#define MOST_FUNCTION 1024
#define MOST_TABLE 65536

static struct etl_python_layout layout;
static const uint8_t *code_type; /* PyCode_Type */
static void *(*this_thread)(void);
static int (*is_finalizing)(void);
/* Release, behind all of these; what was found is not looked for again. */
static _Atomic bool is_found, is_read;
static char obstacle[160];

static uint64_t word(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

static uint32_t half(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

static const uint8_t *pointer(const uint8_t *at)
{
	return (const uint8_t *)(uintptr_t)word(at);
}

/* ---- finding it */

/* Where an embedded interpreter was loaded for its loader alone. */
static int note_library(struct dl_phdr_info *info, size_t size, void *found)
{
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	if (!name || strncmp(name, "/libpython3.", 12) != 0)
		return 0;
	snprintf(found, 4096, "%s", info->dlpi_name);
	return 1;
}

static bool open_interpreter(void **python)
{
	char path[4096];

	*python = RTLD_DEFAULT;
	if (dlsym(RTLD_DEFAULT, "_PyRuntime"))
		return true;
	if (!dl_iterate_phdr(note_library, path))
		return false;
	*python = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
	return *python != NULL;
}

/* Replaces the places of published offsets by these; false if it is not what we know. */
static bool take_published(const uint8_t *runtime)
{
	int *const offsets[] = {
		&layout.thread_frame, &layout.frame_previous, &layout.frame_code,
		&layout.frame_instruction, &layout.frame_owner, &layout.code_file, &layout.code_function,
		&layout.code_table, &layout.code_first_line, &layout.code_instructions,
		&layout.object_type, &layout.bytes_size, &layout.bytes_data,
		&layout.text_length, &layout.text_state, &layout.text_ascii,
	};

	/* struct _Py_DebugOffsets begins so: a mark, the version, whether there is no GIL. */
	if (memcmp(runtime, "xdebugpy", 8) != 0 || (word(runtime + 16) && !layout.is_read_without_gil))
		return false;
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
		uint64_t offset = word(runtime + *offsets[i]);

		if (offset >= 4096)
			return false;
		*offsets[i] = (int)offset;
	}
	return true;
}

/* Whether this build of it is as the layout says, as far as its types tell: one that traces
 * references, say, has other objects. */
static bool is_as_described(const uint8_t *type_type)
{
	return pointer(code_type + layout.object_type) == type_type &&
	       pointer(type_type + layout.object_type) == type_type;
}

static bool describe(void *python, unsigned long version)
{
	const uint8_t *runtime = dlsym(python, "_PyRuntime");
	const uint8_t *type_type = dlsym(python, "PyType_Type");
	void *finalizing = dlsym(python, "Py_IsFinalizing");
	void *thread = dlsym(python, "PyGILState_GetThisThreadState");
	int minor = (int)(version >> 16 & 0xff);
	size_t i = 0;

	while (i < N_LAYOUTS && etl_python_layouts[i].minor != minor)
		i++;
	if (!finalizing)
		finalizing = dlsym(python, "_Py_IsFinalizing");
	code_type = dlsym(python, "PyCode_Type");
	if (version >> 24 != 3 || i == N_LAYOUTS || !runtime || !type_type || !finalizing || !thread ||
	    !code_type)
		return false;
	layout = etl_python_layouts[i];
	memcpy(&is_finalizing, &finalizing, sizeof finalizing);
	memcpy(&this_thread, &thread, sizeof thread);
	return (!layout.is_published || take_published(runtime)) && is_as_described(type_type);
}

void etl_python_look(void)
{
	const unsigned long *version;
	void *python;

	if (etl_load(&is_found))
		return;
	if (!open_interpreter(&python))
		return;
	version = dlsym(python, "Py_Version"); /* older ones have none */
	if (version && describe(python, *version))
		etl_store(&is_read, true);
	else
		snprintf(obstacle, sizeof obstacle,
			 "Python stacks are read of CPython " ETL_PYTHONS " as it is released, not of "
			 "this one (%s%lu.%lu)", version ? "" : "before ", version ? *version >> 24 : 3,
			 version ? *version >> 16 & 0xff : 11);
	etl_store(&is_found, true);
}

const char *etl_python_obstacle(void)
{
	return etl_load(&is_found) && !etl_load(&is_read) ? obstacle : NULL;
}

/* ---- its end */

/* Another program, which embeds it, goes on without it. */
static bool is_python_itself(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	const char *name;

	if (length <= 0)
		return false;
	path[length] = '\0';
	name = strrchr(path, '/');
	return name && strncmp(name, "/python", 7) == 0;
}

void etl_python_at_end(void (*function)(void))
{
	int (*add)(void (*)(void));
	void *python, *symbol;

	if (!is_python_itself() || !open_interpreter(&python))
		return;
	symbol = dlsym(python, "Py_AtExit");
	memcpy(&add, &symbol, sizeof add);
	/* One that has no room for it is flushed at exit(), as every program is. */
	if (add)
		(void)add(function);
}

/* ---- frames */

static const uint8_t *first_frame(const uint8_t *thread)
{
	const uint8_t *at = pointer(thread + layout.thread_frame);

	/* 3.11 and 3.12 have a struct of the C stack between the two. */
	return layout.frame_in < 0 || !at ? at : pointer(at + layout.frame_in);
}

enum etl_stack_state etl_python_places(struct etl_python_place *places, unsigned *n)
{
	const uint8_t *thread, *frame;

	*n = 0;
	if (!etl_load(&is_read))
		return etl_load(&is_found) ? ETL_STACK_UNREADABLE : ETL_STACK_NO_PYTHON;
	/* The states of other threads are freed while Python ends. */
	if (is_finalizing())
		return ETL_STACK_UNREADABLE;
	thread = this_thread();
	if (!thread)
		return ETL_STACK_NO_PYTHON;
	for (frame = first_frame(thread); frame; frame = pointer(frame + layout.frame_previous)) {
		/* 3.14 marks references in their lowest bits. */
		const uint8_t *code = (const uint8_t *)((uintptr_t)pointer(frame + layout.frame_code) &
							~(uintptr_t)3);

		/* Between frames of Python stand those of the interpreter, where C code calls it.
		 * What is left is code; that is seen to when the stack is new, for the object's
		 * first line is cold. */
		if (frame[layout.frame_owner] >= OWNED_BY_INTERPRETER || !code)
			continue;
		if (*n == ETL_MOST_FRAMES)
			return ETL_STACK_CUT;
		places[*n].code = code;
		places[(*n)++].instruction = pointer(frame + layout.frame_instruction);
	}
	return *n ? ETL_STACK_WHOLE : ETL_STACK_NO_FRAMES;
}

uint64_t etl_python_version(const uint8_t *code)
{
	uint32_t version = layout.code_version < 0 ? 0 : half(code + layout.code_first_line + layout.code_version);

	/* Where code objects are not numbered, or have all been: what they consist of. */
	if (version)
		return version;
	return etl_fold(word(code + layout.code_table) ^ half(code + layout.code_first_line),
			word(code + layout.code_function) | 1) ^
	       word(pointer(code + layout.code_table) + layout.bytes_data);
}

uint32_t etl_python_at(const struct etl_python_place *place)
{
	const uint8_t *first = place->code + layout.code_instructions;

	return place->instruction < first || place->instruction - first > INT32_MAX ?
		       ETL_NOWHERE :
		       (uint32_t)(place->instruction - first);
}

/* ---- what code is called */

/* A str as UTF-8, its first characters in at most `most` bytes. */
static uint32_t copy_text(const uint8_t *text, uint8_t *out, size_t most)
{
	uint32_t state = text ? half(text + layout.text_state) : 0, width;
	uint64_t length = text ? word(text + layout.text_length) : 0;
	const uint8_t *data;
	size_t used = 0;

	if (!(state >> layout.compact_bit & 1))
		return 0;
	width = state >> layout.kind_bit & 7;
	data = text + layout.text_ascii;
	if (!(state >> layout.ascii_bit & 1))
		data += layout.text_wide_more;
	if (width != 1 && width != 2 && width != 4)
		return 0;
	for (uint64_t i = 0; i < length && used + 4 <= most; i++) {
		uint32_t c = 0;

		memcpy(&c, data + i * width, width); /* little-endian */
		used += etl_put_utf8((char *)out + used, c);
	}
	return (uint32_t)used;
}

size_t etl_python_code(const uint8_t *code, uint8_t *out, size_t size)
{
	struct etl_python_code head = { 0 };
	const uint8_t *table;
	uint64_t table_bytes;
	size_t used = sizeof head;

	if (pointer(code + layout.object_type) != code_type)
		return 0;
	head.first_line = half(code + layout.code_first_line);
	table = pointer(code + layout.code_table);
	table_bytes = table ? word(table + layout.bytes_size) : 0;
	if (table_bytes > MOST_TABLE)
		table_bytes = 0; /* its lines are not known then */
	if (size < sizeof head + MOST_FILE + MOST_FUNCTION + table_bytes)
		return 0;
	head.file_bytes = copy_text(pointer(code + layout.code_file), out + used, MOST_FILE);
	used += head.file_bytes;
	head.function_bytes = copy_text(pointer(code + layout.code_function), out + used, MOST_FUNCTION);
	used += head.function_bytes;
	if (table_bytes)
		memcpy(out + used, table + layout.bytes_data, table_bytes);
	head.table_bytes = (uint32_t)table_bytes;
	memcpy(out, &head, sizeof head);
	return used + table_bytes;
}

/* Calls from Python into C cost a third of a microsecond through cffi, more than a range may.  So
 * these functions are Python's own kind of built-in function; see python_abi.h. */
#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "etl/inside.h"
#include "etl/rows.h"
#include "inject/attributes.h"
#include "inject/injector.h"
#include "inject/python_abi.h"
#include "inject/ranges.h"

static void *none(void)
{
	etl_python.incref(etl_python.none);
	return etl_python.none;
}

/* ---- a range */

struct range {
	void *name; /* whose bytes are `text`, or what they were encoded to */
	void *attributes; /* a dictionary, or NULL */
	struct etl_text text;
	_Atomic uint32_t open;
};

/* Behind what every object begins with, which is not of one size in all builds. */
static size_t object_size;
static void *type, *decorate;

static struct range *range_of(void *self)
{
	return (struct range *)(void *)((uint8_t *)self + object_size);
}

/* Once asyncio is there, and somebody records, its tasks are to be followed. */
static void *follow_tasks, *asyncio;

static void look_for_tasks(void)
{
	void *done;

	if (!etl_python.dict_get(etl_python.modules(), asyncio))
		return;
	done = etl_python.call(follow_tasks, NULL);
	if (done && etl_python.is_true(done) == 1)
		follow_tasks = NULL;
	if (done)
		etl_python.decref(done);
	else
		etl_python.clear_error();
}

static void *range_enter(void *self, void *unused)
{
	struct range *range = range_of(self);
	char text[ETL_MOST_RANGE_ATTRIBUTES];
	struct etl_text attributes = { text, 0 };

	(void)unused;
	if (etl_load(&etl_injector.active)) {
		if (follow_tasks)
			look_for_tasks();
		if (range->attributes)
			attributes.length = etl_attributes(range->attributes, text, sizeof text);
		if (etl_range_begin(self, range->text, attributes))
			etl_add(&range->open, 1);
	}
	etl_python.incref(self);
	return self;
}

static void *range_exit(void *self, void *const *unused, ssize_t n)
{
	struct range *range = range_of(self);

	(void)unused;
	(void)n;
	if (etl_peek(&range->open) && etl_range_end(self))
		etl_add(&range->open, UINT32_MAX);
	return none();
}

static void range_dealloc(void *self)
{
	struct range *range = range_of(self);

	if (etl_peek(&range->open))
		etl_range_disown(self);
	if (range->name)
		etl_python.decref(range->name);
	if (range->attributes)
		etl_python.decref(range->attributes);
	etl_python.free(self);
	etl_python.decref(type); /* each object has a reference to it */
}

/* Decorates a function: with what the package says how. */
static void *range_call(void *self, void *arguments, void *named)
{
	if (etl_python.tuple_size(arguments) == 1 && !named)
		return etl_python.call_with(decorate, self, etl_python.tuple_item(arguments, 0), NULL);
	etl_python.raise(etl_python.type_error, "a range decorates one function");
	return NULL;
}

static void *range_repr(void *self)
{
	return etl_python.format("<cupti_etl.range %R>", range_of(self)->name);
}

/* Its name as UTF-8; what cannot be encoded is written as escapes. */
static bool take_name(struct range *range, void *name)
{
	ssize_t length;
	char *bytes;

	range->text.bytes = etl_python.utf8(name, &length);
	if (range->text.bytes) {
		etl_python.incref(name);
		range->name = name;
	} else {
		etl_python.clear_error();
		range->name = etl_python.encode(name, "utf-8", "backslashreplace");
		if (!range->name || etl_python.bytes(range->name, &bytes, &length) < 0)
			return false;
		range->text.bytes = bytes;
	}
	range->text.length = (size_t)length;
	return true;
}

/* A dictionary of named arguments; NULL with an error of Python's. */
static void *dictionary(void *names, void *const *values)
{
	void *attributes = etl_python.new_dict();

	for (ssize_t i = 0; attributes && i < etl_python.tuple_size(names); i++)
		if (etl_python.dict_set(attributes, etl_python.tuple_item(names, i), values[i]) < 0) {
			etl_python.decref(attributes);
			return NULL;
		}
	return attributes;
}

/* Ranges without attributes, by the address of the name: most names are constants, and a range
 * may be open any number of times, so that one does for all.  Only where the GIL guards it. */
#define CACHED 256
static void *cached[CACHED];
static bool is_cached;

static void **cache_of(void *name)
{
	return &cached[((uintptr_t)name >> 4 ^ (uintptr_t)name >> 12) % CACHED];
}

static void *new_range(void *name, void *names, void *const *values)
{
	void *self = etl_python.type_alloc(type, 0);

	if (!self)
		return NULL;
	if (take_name(range_of(self), name)) {
		if (!names)
			return self;
		range_of(self)->attributes = dictionary(names, values);
		if (range_of(self)->attributes)
			return self;
	}
	etl_python.decref(self);
	return NULL;
}

static void *range(void *module, void *const *arguments, ssize_t n, void *names)
{
	void **cache = NULL, *before, *self;

	(void)module;
	if (n == 1 && !names && is_cached) {
		cache = cache_of(arguments[0]);
		if (*cache && range_of(*cache)->name == arguments[0]) {
			etl_python.incref(*cache);
			return *cache;
		}
	}
	if (n != 1 || etl_python.is_instance(arguments[0], etl_python.text_type) != 1) {
		etl_python.raise(etl_python.type_error,
			     "range() takes a name, a str, and attributes by name: "
			     "range(\"forward\", layer=3)");
		return NULL;
	}
	self = new_range(arguments[0], names, arguments + 1);
	if (self && cache) {
		before = *cache;
		etl_python.incref(self);
		*cache = self;
		if (before)
			etl_python.decref(before);
	}
	return self;
}

/* ---- a step */

/* What a call returns, whose step has begun, and what begins one where it is entered. */
static void *begun_step, *each_step;

static void *step_enter(void *self, void *unused)
{
	const struct etl_text nothing = { "", 0 };

	(void)unused;
	if (self == each_step && etl_load(&etl_injector.active))
		etl_range_step(nothing);
	etl_python.incref(self);
	return self;
}

static void *step_exit(void *self, void *const *unused, ssize_t n)
{
	(void)self;
	(void)unused;
	(void)n;
	if (etl_load(&etl_injector.active))
		etl_range_step_end();
	return none();
}

static void *step_repr(void *self)
{
	(void)self;
	return etl_python.new_text("<cupti_etl.step>");
}

static void *begun(void)
{
	etl_python.incref(begun_step);
	return begun_step;
}

static void *step(void *self, void *const *arguments, ssize_t n, void *names)
{
	char text[ETL_MOST_RANGE_ATTRIBUTES];
	struct etl_text attributes = { text, 0 };
	void *dict;

	(void)self;
	if (n == 1 && !names && !etl_python.is_instance(arguments[0], etl_python.text_type))
		return etl_python.call_with(decorate, each_step, arguments[0], NULL);
	if (n != 0) {
		etl_python.raise(etl_python.type_error,
			     "step() takes nothing but attributes by name: step(epoch=3)");
		return NULL;
	}
	if (!etl_load(&etl_injector.active))
		return begun();
	if (names) {
		dict = dictionary(names, arguments);
		if (!dict)
			return NULL;
		attributes.length = etl_attributes(dict, text, sizeof text);
		etl_python.decref(dict);
	}
	etl_range_step(attributes);
	return begun();
}

static bool make_steps(void)
{
	static struct etl_method methods[] = {
		{ "__enter__", step_enter, TAKES_NOTHING, NULL },
		{ "__exit__", step_exit, TAKES_MANY, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static struct etl_type_slot slots[] = {
		{ SLOT_REPR, step_repr },
		{ SLOT_METHODS, methods },
		{ 0, NULL },
	};
	struct etl_type_spec spec = { "cupti_etl.Step", 0, 0, FLAGS_DEFAULT, slots };
	void *of_steps = etl_python.type_from_spec(&spec);

	if (!of_steps)
		return false;
	begun_step = etl_python.type_alloc(of_steps, 0);
	each_step = etl_python.type_alloc(of_steps, 0);
	return begun_step && each_step;
}

/* ---- pieces: numbers that Python keeps for us, 0 for nothing */

static void *mark(void *self, void *unused)
{
	(void)self;
	(void)unused;
	return etl_python.new_integer(etl_ranges_mark());
}

static void *suspend(void *self, void *since)
{
	(void)self;
	return etl_python.new_integer((uintptr_t)etl_ranges_suspend(etl_python.unsigned_integer(since)));
}

static void *resume(void *self, void *aside)
{
	(void)self;
	etl_ranges_resume((void *)(uintptr_t)etl_python.unsigned_integer(aside));
	return none();
}

/* Takes a function that decorates another with a range. */
static void *on_call(void *self, void *function)
{
	(void)self;
	etl_python.incref(function);
	decorate = function;
	return none();
}

/* Takes a function that follows tasks of asyncio, or false if it is too early for that. */
static void *on_tasks(void *self, void *function)
{
	(void)self;
	asyncio = etl_python.new_text("asyncio.events");
	if (!asyncio)
		return NULL;
	etl_python.incref(function);
	follow_tasks = function;
	return none();
}

void *cupti_etl_python_ranges(size_t size_of_object, struct etl_error *error)
{
	static struct etl_method range_methods[] = {
		{ "__enter__", range_enter, TAKES_NOTHING, NULL },
		{ "__exit__", range_exit, TAKES_MANY, NULL },
		{ NULL, NULL, 0, NULL },
	};
	static struct etl_method functions[] = {
		{ "step", step, TAKES_MANY | TAKES_NAMED,
		  "step(**attributes)\n--\n\n"
		  "A step of the program begins, and the one before ends. Used as a context manager, the "
		  "step\nends with it; `@step` makes each call of a function a step." },
		{ "mark", mark, TAKES_NOTHING, NULL },
		{ "suspend", suspend, TAKES_ONE, NULL },
		{ "resume", resume, TAKES_ONE, NULL },
		{ "range", range, TAKES_MANY | TAKES_NAMED,
		  "range(name, /, **attributes)\n--\n\n"
		  "A named part of the program's work: a context manager, and a decorator of functions "
		  "and\ncoroutine functions.  It can be used again, inside of itself, and by several "
		  "threads at once.\nWhat a thread launches inside of it belongs to it, as it does to a "
		  "range of NVTX; a range\nthat a task of asyncio is in lasts only while that task runs.\n"
		  "\nWhile nothing records it costs some tens of nanoseconds, so that it may stay." },
		{ "on_call", on_call, TAKES_ONE, NULL },
		{ "on_tasks", on_tasks, TAKES_ONE, NULL },
	};
	static struct etl_type_slot slots[] = {
		{ SLOT_CALL, range_call },
		{ SLOT_DEALLOC, range_dealloc },
		{ SLOT_REPR, range_repr },
		{ SLOT_METHODS, range_methods },
		{ 0, NULL },
	};
	struct etl_type_spec spec = { "cupti_etl.Range", 0, 0, FLAGS_DEFAULT, slots };
	void *found;

	if (type) {
		etl_fail(error, EEXIST, "another interpreter of this process has them");
		return NULL;
	}
	if (!etl_python_find(error))
		return NULL;
	object_size = size_of_object;
	/* Of a build with the GIL. */
	is_cached = object_size == 2 * sizeof(void *);
	spec.basic_size = (int)(object_size + sizeof(struct range));
	found = etl_python.new_dict();
	type = etl_python.type_from_spec(&spec);
	if (!found || !type || !make_steps() ||
	    etl_python.dict_set_name(found, "Range", type) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *function = etl_python.function(&functions[i], NULL, NULL);

		if (!function || etl_python.dict_set_name(found, functions[i].name, function) < 0)
			return NULL;
		etl_python.decref(function);
	}
	return found;
}

#include <dlfcn.h>
#include <string.h>

#include "etl/error.h"
#include "inject/python_abi.h"
#include "inject/python_child.h"

/* After the finalizers of everybody else, who may still use the GPU. */
#define LAST (-1000000000)

static void (*at_end)(void);

static void *called(void *self, void *unused)
{
	(void)self;
	(void)unused;
	at_end();
	etl_python.incref(etl_python.none);
	return etl_python.none;
}

/* A module that is loaded; borrowed. */
static void *module(const char *name)
{
	void *key = etl_python.new_text(name), *found = NULL;

	if (key) {
		found = etl_python.dict_get(etl_python.modules(), key);
		etl_python.decref(key);
	}
	return found;
}

static void *attribute(const char *module_name, const char *name)
{
	void *from = module(module_name);

	return from ? etl_python.attribute(from, name) : NULL;
}

static void drop(void *object)
{
	if (object)
		etl_python.decref(object);
}

/* multiprocessing.util.Finalize(None, called, (), None, LAST) */
static void add_finalizer(void)
{
	static struct etl_method method = { "cupti_etl_at_end", (void *)called, TAKES_NOTHING, NULL };
	void *finalize = attribute("multiprocessing.util", "Finalize");
	void *function = etl_python.function(&method, NULL, NULL);
	void *nothing = etl_python.new_tuple(0), *last = etl_python.new_signed(LAST), *made = NULL;

	if (finalize && function && nothing && last)
		made = etl_python.call_with(finalize, etl_python.none, function, nothing,
					    etl_python.none, last, NULL);
	drop(finalize);
	drop(function);
	drop(nothing);
	drop(last);
	drop(made);
}

static bool is_child(void)
{
	void *parent = attribute("multiprocessing.process", "_parent_process");
	bool is_one = parent && parent != etl_python.none;

	drop(parent);
	return is_one;
}

/* Such a child is a program of its own, and gets to exit(). */
static bool is_spawned(void)
{
	void *words = attribute("sys", "orig_argv");
	void *last = words ? etl_python.item(words, -1) : NULL;
	const char *text = last ? etl_python.utf8(last, NULL) : NULL;
	bool is_one = text && strcmp(text, "--multiprocessing-fork") == 0;

	drop(last);
	drop(words);
	return is_one;
}

/* In the main thread, which has the GIL. */
static int look(void *unused)
{
	struct etl_error error;

	(void)unused;
	if (!etl_python_find(&error))
		return 0;
	if (is_child() && !is_spawned())
		add_finalizer();
	etl_python.clear_error();
	return 0;
}

void etl_python_child_at_end(void (*function)(void))
{
	int (*call_soon)(int (*)(void *), void *);
	void *symbol = dlsym(RTLD_DEFAULT, "Py_AddPendingCall");

	memcpy(&call_soon, &symbol, sizeof call_soon);
	if (!call_soon)
		return;
	at_end = function;
	/* Whoever initializes CUDA may have given up the GIL, and need not be the main thread. */
	(void)call_soon(look, NULL);
}

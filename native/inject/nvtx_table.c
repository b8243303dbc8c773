/* What stands in NVTX's tables: CUPTI's functions, from when they can be called.
 *
 * NVTX gives an injected library the addresses of its function pointers, one set for
 * each library that uses NVTX, and CUPTI puts its functions there.  A program may use
 * NVTX before CUDA.  Until CUPTI is initialised, most of what libcupti 13 puts there
 * crashes; and it cannot be initialised that early, because it would hang in children
 * that the program forks.  So its functions are held back, and in their places stands
 * what NVTX takes for "no tool".  Numbers are those of the public nvtxTypes.h (NVTX 3). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "etl/atomics.h"
#include "inject/injector.h"
#include "inject/nvtx.h"
#include "inject/nvtx_table.h"

typedef etl_nvtx_function function;

struct callbacks {
	size_t struct_size;
	int (*module_table)(uint32_t module, function ***table, unsigned *size);
};

enum { EXPORT_CALLBACKS = 1 };
enum { CORE2 = 5, MODULES = 7 }; /* NvtxCallbackModule, from 1 on */
enum { REGISTER_STRING_A = 10, DOMAIN_DESTROY = 14 }; /* NvtxCallbackIdCore2 */
#define IDS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static bool is_released;
static struct held {
	etl_nvtx_slot *slot;
	function theirs;
	struct held *next;
} *all_held;

/* Registered strings and domains are used later on, so each needs its handle; CUPTI makes
 * them without being initialised. */
static bool makes_handles(uint32_t module, unsigned id)
{
	return module == CORE2 && id >= REGISTER_STRING_A && id <= DOMAIN_DESTROY;
}

static void hold(etl_nvtx_slot *slot, function theirs)
{
	struct held *held = malloc(sizeof *held);

	etl_store(slot, NULL);
	if (!held)
		return; /* a range that is not seen is better than a crash */
	*held = (struct held){ slot, theirs, all_held };
	all_held = held;
}

/* `theirs` is NULL where CUPTI put nothing: the pointer leads to NVTX's start then, and to call
 * that for what CUPTI should do would never end. */
static void settle(uint32_t module, unsigned id, function *pointer, function theirs)
{
	etl_nvtx_slot *slot = etl_nvtx_slot_of(module, id, pointer);

	if (!theirs)
		return;
	if (is_released || makes_handles(module, id))
		etl_store(slot, theirs);
	else
		hold(slot, theirs);
}

/* The pointers of a module in this copy of NVTX; how many there are. */
static unsigned pointers_of(void *get_export_table, uint32_t module, function ***pointers)
{
	const void *(*get)(uint32_t);
	const struct callbacks *callbacks;
	unsigned size = 0;

	*pointers = NULL;
	memcpy(&get, &get_export_table, sizeof get);
	callbacks = get ? get(EXPORT_CALLBACKS) : NULL;
	if (!callbacks || callbacks->struct_size < sizeof *callbacks ||
	    !callbacks->module_table(module, pointers, &size) || !*pointers)
		return 0;
	return size < IDS ? size : IDS;
}

bool etl_nvtx_initialize(void *get_export_table)
{
	static function before[MODULES][IDS];
	function **pointers;
	bool done;

	/* Each library of the program that uses NVTX comes here with its own copy of it. */
	pthread_mutex_lock(&lock);
	for (uint32_t module = 1; module < MODULES; module++) {
		unsigned n = pointers_of(get_export_table, module, &pointers);

		for (unsigned id = 0; id < n; id++)
			before[module][id] = pointers[id] ? *pointers[id] : NULL;
	}
	/* CUPTI answers 0 for success, NVTX wants 1 for it. */
	done = etl_injector.cupti.nvtx_initialize2(get_export_table) == CUPTI_OK;
	for (uint32_t module = 1; done && module < MODULES; module++) {
		unsigned n = pointers_of(get_export_table, module, &pointers);

		for (unsigned id = 0; id < n; id++)
			if (pointers[id])
				settle(module, id, pointers[id],
				       *pointers[id] == before[module][id] ? NULL : *pointers[id]);
	}
	pthread_mutex_unlock(&lock);
	return done;
}

void etl_nvtx_release(void)
{
	pthread_mutex_lock(&lock);
	is_released = true;
	while (all_held) {
		struct held *held = all_held;
		Dl_info library;

		/* The library that uses NVTX may have been unloaded. */
		if (dladdr((void *)held->slot, &library))
			etl_store(held->slot, held->theirs);
		all_held = held->next;
		free(held);
	}
	pthread_mutex_unlock(&lock);
}

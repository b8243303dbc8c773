/* Where a libcupti can be, and functions of libraries: what the injector and the sampler share. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Newest first: what a newer program brings is what it was tested with. */
static const char *const etl_cupti_sonames[] = { "libcupti.so.13", "libcupti.so.12",
						 "libcupti.so" };

#define ETL_N_CUPTI_SONAMES (sizeof etl_cupti_sonames / sizeof etl_cupti_sonames[0])

/* A function of a library, and its place in a struct of pointers. */
struct etl_symbol {
	size_t offset;
	const char *name;
	bool optional;
};

#define ETL_REQUIRED(type, member, symbol) { offsetof(struct type, member), symbol, false }
#define ETL_OPTIONAL(type, member, symbol) { offsetof(struct type, member), symbol, true }

/* Fills `functions`; of two for one place, the last that is there.  The name of one that is
 * missing and not optional, or NULL. */
static inline const char *etl_resolve(void *library, const struct etl_symbol *symbols, size_t count,
				      void *functions)
{
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address && !symbols[i].optional)
			return symbols[i].name;
		/* ISO C has no cast from void * to a function pointer; POSIX promises that the
		 * bits are the same. */
		if (address)
			memcpy((char *)functions + symbols[i].offset, &address, sizeof address);
	}
	return NULL;
}

/* Copies the first of the paths that have colons between them, and returns what follows; NULL
 * if there is none.  Those that are empty or have no room are passed over. */
static inline const char *etl_next_path(const char *paths, char *path, size_t size)
{
	while (paths && *paths) {
		const char *end = strchrnul(paths, ':');
		size_t length = (size_t)(end - paths);

		if (length > 0 && length < size) {
			memcpy(path, paths, length);
			path[length] = '\0';
			return *end ? end + 1 : end;
		}
		paths = *end ? end + 1 : end;
	}
	return NULL;
}

/* Where a libcupti can be: what the injector and the sampler both go through. */
#pragma once

#include <stddef.h>
#include <string.h>

/* Newest first: what a newer program brings is what it was tested with. */
static const char *const etl_cupti_sonames[] = { "libcupti.so.13", "libcupti.so.12",
						 "libcupti.so" };

#define ETL_N_CUPTI_SONAMES (sizeof etl_cupti_sonames / sizeof etl_cupti_sonames[0])

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

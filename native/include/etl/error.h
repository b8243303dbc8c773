/* How a native function says what went wrong. */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#define ETL_MUST_CHECK __attribute__((warn_unused_result))
#define ETL_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* cffi: begin */
/* Filled by a function that returns a negative errno; may be NULL everywhere. */
struct etl_error { char message[512]; };
/* cffi: end */

ETL_PRINTF(3, 4)
static inline int etl_fail(struct etl_error *error, int code, const char *format, ...)
{
	if (error) {
		va_list args;

		va_start(args, format);
		vsnprintf(error->message, sizeof error->message, format, args);
		va_end(args);
	}
	return -code;
}

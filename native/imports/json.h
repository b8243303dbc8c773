/* The tokens of JSON in a piece of a file.  A function that reaches the end of the piece
 * returns NULL: more is needed.  Leniency is on purpose: profilers write bare words such as
 * nan, and control characters in names. */
#pragma once

#include "imports/rows.h"

static inline const char *json_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p < end ? p : NULL;
}

/* Behind the value that begins at p. */
const char *json_skip(const char *p, const char *end);
/* Behind the string whose first quote is at p. */
const char *json_skip_string(const char *p, const char *end);
/* Of a string without its quotes; `out` has room for n bytes.  Returns the length. */
size_t json_unescape(char *out, const char *p, size_t n);
/* A number, also one in quotes, times 10^scale; exact as long as it has no exponent and fits,
 * a fraction that is left is rounded.  Anything else is CELL_NULL. */
void json_number(struct cell *out, const char *p, const char *end, int scale);

/* Attributes of a range as a JSON object. */
#pragma once

#include <stddef.h>

/* Writes a dictionary of Python's; the thread holds the GIL.  Numbers, texts, truth values, None,
 * lists and tuples are JSON's, others become texts by str().  How many bytes; 0: there is no room. */
size_t etl_attributes(void *dictionary, char *out, size_t size);

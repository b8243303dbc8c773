/* The objects behind cupti_etl.range(): types of Python's, made of its stable ABI. */
#pragma once

#include "etl/error.h"

/* A dictionary with what cupti_etl/inprocess/ranges.py needs, see there, as a new reference; NULL
 * with a sentence, or with an error of Python's.  The thread holds the GIL. */
void *etl_python_ranges(size_t size_of_object, struct etl_error *error);

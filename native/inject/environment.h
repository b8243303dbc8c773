#pragma once

#include <stdbool.h>
#include "etl/segment.h"

/* NULL if it is not set, or empty. */
const char *etl_env(const char *name);
long etl_env_number(const char *name, long otherwise, long least, long most);
/* A function of the driver's, in the copy that the process has loaded; NULL if there is none. */
void *etl_driver_function(const char *name);
bool etl_list_has(const char *list, const char *word); /* comma-separated */
void etl_describe_process(struct etl_segment *segment);

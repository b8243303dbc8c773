/* The arguments of a call, out of the struct that CUPTI has for it. */
#pragma once

#include "etl/callbacks.h"

struct etl_shape;

/* How the arguments of a function lie; NULL where none of them is wanted.  The name is CUPTI's, with
 * the version of the signature. */
const struct etl_shape *etl_shape_of(const char *function);
/* Fills an event's values; `arguments` are the function's own. */
void etl_take_arguments(const struct etl_shape *shape, const uint8_t *arguments,
			struct etl_callback_event *event);
/* The name of a callback of a domain whose callbacks CUPTI does not name, or NULL. */
const char *etl_callback_id_name(uint32_t domain, uint32_t cbid);

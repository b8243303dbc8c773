/* What callbacks are called, and how their arguments lie. */
#pragma once

#include "inject/callback_slots.h"

struct etl_callback_name {
	struct etl_callback_string text; /* without the version of the signature */
	const struct etl_shape *shape; /* NULL: no arguments are taken */
};

/* After libcupti is loaded; once for the process. */
void etl_callback_names_load(void);
/* NULL: there is no such callback. */
const struct etl_callback_name *etl_callback_name(uint32_t domain, uint32_t cbid);

/* From what CUPTI hands to a callback to an event. */
#pragma once

#include "inject/callback_names.h"

/* CUpti_CallbackData. */
struct etl_callback_data {
	uint32_t site; /* 0: the call begins, 1: it returns */
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation_id;
};

/* Fills all but the times, and says which text belongs to it, whose hash is not made. */
void etl_callback_event(uint32_t domain, uint32_t cbid, const void *info,
			const struct etl_callback_name *name, struct etl_callback_event *event,
			struct etl_callback_string *text);

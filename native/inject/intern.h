#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called with `publish` held; the first before the strings of each slot. */
void etl_intern_begin(void);
uint64_t etl_intern(const char *text, size_t length, uint32_t tag, uint32_t flags);
/* One that its caller publishes once, at most ETL_MOST_STRING_BYTES long, with its etl_hash();
 * false if there is no slot. */
bool etl_intern_entry(uint64_t id, const void *bytes, size_t length, uint32_t tag, uint32_t flags);
bool etl_intern_flush(void); /* publishes new strings; false if there is no slot */
/* Publishes all strings anew for a collector that asks; takes `publish` itself. */
void etl_intern_answer(void);
/* Another collector begins: all strings are published anew when they are used. */
void etl_intern_forget(void);

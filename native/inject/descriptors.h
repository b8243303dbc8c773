#pragma once

#include <stdbool.h>

/* Out of the program's way; the new number, or the old one if there is no room. */
int etl_move_descriptor(int fd);
/* Remembers a descriptor as ours. */
void etl_keep_descriptor(int fd);
/* Whether it is one of them, and the program has neither closed nor reused it. */
bool etl_is_kept(int fd);
void etl_close_kept(int fd); /* if it is */
/* Calls a function where some descriptors are free, whose numbers mean nothing outside;
 * what it returns, or -errno. */
int etl_call_with_room(int (*function)(void *), void *argument);

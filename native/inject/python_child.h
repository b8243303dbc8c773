#pragma once

/* A child of Python's multiprocessing that was forked ends by _exit(), so that no handler of
 * exit() runs: has Python call `function` when such a child is about to, and only there. */
void etl_python_child_at_end(void (*function)(void));

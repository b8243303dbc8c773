#pragma once

/* The thread that evaluates; it ends after `is_stopping`, or a failure. */
void *pm_evaluate_thread(void *device);

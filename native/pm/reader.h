#pragma once

/* The thread that decodes; it ends after `is_stopping`, or a failure. */
void *pm_decode_thread(void *device);

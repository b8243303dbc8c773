#pragma once

/* A session begins, with a collector that has not been told anything yet. */
void etl_hello_forget(void);
/* Sends the segment (or, with fd < 0, only the reason why there is none) to the collector;
 * never waits.  0, -EAGAIN if it may go better later, or another -errno. */
int etl_hello(int fd, const char *reason);
/* Now and then: says it again if that may help, and takes what is answered. */
void etl_hello_again(void);

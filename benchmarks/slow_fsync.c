/* Preloaded: a disk on which each fsync takes so many milliseconds longer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    const char *ms = getenv("SLOW_FSYNC_MS");
    long wanted = ms ? atol(ms) : 0;
    struct timespec pause = {wanted / 1000, wanted % 1000 * 1000000};
    nanosleep(&pause, NULL);
    return real(fd);
}

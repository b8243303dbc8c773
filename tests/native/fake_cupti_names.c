/* Kernel names in memory that does not last: FAKE_CUPTI_NAMES=moving.  A client that
 * keeps the pointers of a buffer, or takes a pointer for a name that it has seen there
 * before, reads another name or garbage. */
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 256 * 1024 };

struct arena {
    struct arena *next;
    size_t used;
    const char *moved[FAKE_MAX_NAMES];
    char bytes[ARENA_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena *spare;

static struct arena *take_arena(void) {
    pthread_mutex_lock(&lock);
    struct arena *arena = spare;
    if (arena != NULL)
        spare = arena->next;
    pthread_mutex_unlock(&lock);
    if (arena == NULL)
        arena = malloc(sizeof *arena);
    if (arena == NULL)
        abort();
    arena->used = 0;
    memset(arena->moved, 0, sizeof arena->moved);
    return arena;
}

const char *name_for(struct buffer *buffer, uint32_t index, const char *stable) {
    buffer->names[index]++;
    if (!options.moving_names)
        return stable;
    if (buffer->arena == NULL)
        buffer->arena = take_arena();
    struct arena *arena = buffer->arena;
    size_t length = strlen(stable) + 1;
    if (arena->moved[index] == NULL) {
        if (ARENA_BYTES - arena->used < length)
            return stable;
        arena->moved[index] = memcpy(arena->bytes + arena->used, stable, length);
        arena->used += length;
    }
    return arena->moved[index];
}

void release_arena(struct buffer *buffer) {
    struct arena *arena = buffer->arena;
    if (arena == NULL)
        return;
    buffer->arena = NULL;
    /* A terminated wrong answer: a stale pointer shows as this name and not as a crash. */
    memset(arena->bytes, '?', ARENA_BYTES);
    for (size_t i = 15; i < ARENA_BYTES; i += 16)
        arena->bytes[i] = '\0';
    pthread_mutex_lock(&lock);
    arena->next = spare;
    spare = arena;
    pthread_mutex_unlock(&lock);
}

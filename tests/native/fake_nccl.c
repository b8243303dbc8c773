/* A program that calls NCCL's profiler plugin as NCCL does, beside launches of the fake driver: a
 * process a rank.  Own declarations of the public interface: what the plugin is told of is laid out
 * member by member.
 *
 * fake_nccl WORD=NUMBER...
 *   interface=5 ranks=2 operations=10 communicators=1   and of each operation: group=1 (two of them
 *   are launched as one kernel), channels=1, p2p=1 (sends and receives in
 *   turns), copy=1 (by copy engines, without a kernel), graph=1, phases=1 (of channels)
 *   late=R us=N      rank R calls N us after all others have called
 *   silent=N         of operation N, the kernel is launched, but the plugin not told
 *   killed=N         the last rank is killed inside operation N
 *   unended=1        the last operation does not end
 *   subgroup=1       all communicators but the first are without the last rank
 * Prints a line an operation: rank, communicator, sequence, elements, and the times around the call
 * in ns. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GROUP = 1, COLL = 2, P2P = 4, CHANNEL = 64, COLL_API = 512, P2P_API = 1024, LAUNCH = 2048,
       COPY = 4096, PHASE = 32768 };

typedef int init_3(void **, int *);
typedef int init_4(void **, int *, const char *, uint64_t, int, int, int, void *);
typedef int init_5(void **, uint64_t, int *, const char *, int, int, int, void *);
struct plugin {
    const char *name;
    void *init;
    int (*start)(void *, void **, void *);
    int (*stop)(void *);
    int (*state)(void *, int, void *);
    int (*end)(void *);
};

enum { INTERFACE, RANKS, OPERATIONS, COMMUNICATORS, GROUPED, CHANNELS, IS_P2P, IS_COPY, IS_GRAPH, LATE,
       US, SILENT, KILLED, UNENDED, PHASES, SUBGROUP, WORDS };
static const char *const words[WORDS] = {"interface", "ranks",  "operations", "communicators",
                                         "group",     "channels", "p2p",     "copy",
                                         "graph",     "late",   "us",         "silent",
                                         "killed",    "unended", "phases", "subgroup"};
static int given[WORDS] = {5, 1, 10, 1, 0, 0, 0, 0, 0, -1, 0, -1, -1, 0, 0, 0};
enum { MOST_COMMUNICATORS = 16, MOST_OPERATIONS = 4096 };
static _Atomic int *arrived; /* ranks that have called, by operation; of all processes */

static const struct plugin *plugin;
static int version, mask;
static const char *function = "AllReduce";
static int (*launch)(uint32_t, uint32_t, uint32_t);

static void put(uint8_t *to, size_t at, const void *what, size_t size) {
    memcpy(to + at, what, size);
}

#define PUT(at, type, value) put(told, at, &(type){value}, sizeof(type))

static void *begin(void *context, uint8_t *told, uint64_t type, void *parent, int rank) {
    void *handle = NULL;
    if (plugin == NULL || context == NULL || (mask & (int)type) == 0)
        return NULL;
    /* Before version 5 a byte; what is behind it is anything. */
    if (version < 5) {
        memset(told, 0xa5, 8);
        told[0] = (uint8_t)type;
    } else
        PUT(0, uint64_t, type);
    PUT(8, void *, parent);
    PUT(16, int, rank);
    plugin->start(context, &handle, told);
    return handle;
}

static void finish(void *handle) {
    if (handle != NULL)
        plugin->stop(handle);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A launch takes NCCL some microseconds; the fake CUPTI's records are as long before it. */
static void pass(int64_t ns) {
    int64_t begin = now_ns();
    while (now_ns() - begin < ns)
        ;
}

static void *call(void *context, int rank, uint64_t count) {
    uint8_t told[256] = {0};
    PUT(24, const char *, function);
    PUT(32, uint64_t, count);
    PUT(40, const char *, "ncclFloat32");
    if (given[IS_P2P]) {
        PUT(48, void *, (void *)0x7000);
        PUT(56, bool, given[IS_GRAPH]);
        return begin(context, told, P2P_API, NULL, rank);
    }
    PUT(56, void *, (void *)0x7000);
    PUT(64, bool, given[IS_GRAPH]);
    return begin(context, told, COLL_API, NULL, rank);
}

static void *task(void *context, void *group, void *of, int rank, uint64_t sequence,
                  uint64_t count) {
    uint8_t told[256] = {0};
    if (given[IS_P2P]) {
        PUT(24, const char *, function);
        PUT(40, const char *, "ncclFloat32");
        PUT(48, uint64_t, count);
        PUT(56, int, 1 - rank);
        PUT(60, uint8_t, 2);
        PUT(64, void *, group);
        return begin(context, told, P2P, version < 5 ? group : of, rank);
    }
    PUT(24, uint64_t, sequence);
    PUT(32, const char *, function);
    PUT(56, uint64_t, count);
    PUT(64, int, 0);
    PUT(72, const char *, "ncclFloat32");
    if (given[IS_COPY])
        return begin(context, told, COPY, of, rank);
    PUT(80, uint8_t, 24);
    PUT(81, uint8_t, 16);
    PUT(88, const char *, "RING");
    PUT(96, const char *, "LL");
    PUT(104, void *, group);
    return begin(context, told, COLL, version < 5 ? group : of, rank);
}

/* Of a kernel with symmetric memory: it waits for the others, works, and waits again. */
static void phase_of(void *context, void *channel, int rank, int number, int phase) {
    static const char *const names[] = {"initial_sync", "compute", "final_sync"};
    uint64_t from = 1000 + 300 * (uint64_t)phase + (uint64_t)number, until = from + 300;
    uint8_t told[256] = {0};
    void *handle;
    PUT(24, uint8_t, (uint8_t)number);
    PUT(25, uint8_t, (uint8_t)phase);
    PUT(32, const char *, names[phase]);
    PUT(40, uint64_t, from);
    handle = begin(context, told, PHASE, channel, rank);
    if (handle != NULL) {
        plugin->state(handle, 31, &until);
        plugin->stop(handle);
    }
}

static void channel(void *context, void *parent, int rank, int number) {
    uint8_t told[256] = {0};
    uint64_t until = 2000 + (uint64_t)number;
    void *handle;
    PUT(24, uint8_t, (uint8_t)number);
    PUT(32, uint64_t, 1000 + (uint64_t)number);
    handle = begin(context, told, CHANNEL, parent, rank);
    for (int phase = 0; given[PHASES] && phase < 3; phase++)
        phase_of(context, handle, rank, number, phase);
    if (handle != NULL) {
        plugin->state(handle, 22, &until);
        plugin->stop(handle);
    }
}

/* The newest version that both know, as NCCL looks it up. */
static void load_plugin(void) {
    const char *name = getenv("NCCL_PROFILER_PLUGIN");
    void *library = name != NULL ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (int v = given[INTERFACE]; library != NULL && v > 0 && plugin == NULL; v--) {
        char symbol[32];
        (void)snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", v);
        plugin = dlsym(library, symbol);
        version = v;
    }
}

static int members_of(int communicator) {
    return given[RANKS] - (given[SUBGROUP] && communicator > 0);
}

static void begin_communicator(void **context, int number, int rank) {
    uint64_t id = 0xf00d000000000000u + (uint64_t)number;
    int ranks = members_of(number);
    if (plugin == NULL || rank >= ranks)
        return;
    if (version < 4)
        ((init_3 *)plugin->init)(context, &mask);
    else if (version < 5)
        ((init_4 *)plugin->init)(context, &mask, "world", id, 1, ranks, rank, NULL);
    else
        ((init_5 *)plugin->init)(context, id, &mask, "world", 1, ranks, rank, NULL);
}

/* Waits until the others have called, if this rank is the late one. */
static void arrive(int operation, int rank, int others) {
    if (rank == given[LATE]) {
        while (atomic_load(&arrived[operation]) < others)
            usleep(50);
        pass(given[US] * INT64_C(1000));
    }
}

static void operate(void *context, int i, int rank) {
    int c = i % given[COMMUNICATORS], members = given[GROUPED] ? 2 : 1;
    uint64_t sequence = (uint64_t)(i / given[COMMUNICATORS] * members);
    uint64_t count = (uint64_t)(i + 1) * 16;
    int others = members_of(c) - 1;
    bool is_killed = i == given[KILLED] && rank == given[RANKS] - 1;
    bool is_unended = given[UNENDED] && i == given[OPERATIONS] - 1;
    void *calls[2] = {NULL}, *tasks[2] = {NULL}, *launched, *group;
    uint8_t told[256] = {0}, group_told[256] = {0};
    int64_t before, after;

    if (rank > others)
        return;
    if (given[IS_P2P])
        function = (i + rank) % 2 ? "Recv" : "Send";
    arrive(i, rank, others);
    before = now_ns();
    for (int m = 0; m < members; m++) {
        calls[m] = call(context, rank, count);
        finish(calls[m]); /* operations name it all the same */
    }
    after = now_ns();
    atomic_fetch_add(&arrived[i], 1);
    if (!given[IS_COPY]) {
        launched = begin(context, told, LAUNCH, NULL, rank);
        pass(2000);
        launch(0, (uint32_t)i, 2);
        pass(2000);
        finish(launched);
    }
    group = given[IS_COPY] ? NULL : begin(context, group_told, GROUP, NULL, rank);
    for (int m = 0; m < members; m++) {
        tasks[m] = task(context, group, calls[m], rank, sequence + (uint64_t)m, count);
        printf("%d %d %llu %llu %lld %lld\n", rank, c, (unsigned long long)sequence + (unsigned)m,
               (unsigned long long)count, (long long)before, (long long)after);
    }
    if (is_killed) {
        (void)fflush(stdout);
        (void)kill(getpid(), SIGKILL);
    }
    for (int m = 0; m < members && !is_unended; m++)
        finish(tasks[m]);
    finish(group);
    for (int n = 0; given[CHANNELS] && n < 2; n++)
        channel(context, tasks[0], rank, n);
}

static int run(int rank) {
    void *contexts[MOST_COMMUNICATORS] = {NULL};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int (*start)(unsigned) = NULL;

    if (driver == NULL)
        return 95;
    *(void **)&start = dlsym(driver, "cuInit");
    *(void **)&launch = dlsym(driver, "fakeLaunch");
    if (start == NULL || launch == NULL || start(0) != 0)
        return 95;
    load_plugin();
    for (int c = 0; c < given[COMMUNICATORS]; c++)
        begin_communicator(&contexts[c], c, rank);
    for (int i = 0; i < given[OPERATIONS]; i++)
        operate(i == given[SILENT] ? NULL : contexts[i % given[COMMUNICATORS]], i, rank);
    for (int c = 0; c < given[COMMUNICATORS]; c++)
        if (contexts[c] != NULL)
            plugin->end(contexts[c]);
    return 0;
}

/* Processes that have not used the driver yet, each with its rank in its environment. */
static int run_ranks(void) {
    int worst = 0, status;
    for (int rank = 0; rank < given[RANKS]; rank++) {
        pid_t child = fork();
        if (child == 0) {
            char text[16], world[16];
            (void)snprintf(text, sizeof text, "%d", rank);
            (void)snprintf(world, sizeof world, "%d", given[RANKS]);
            setenv("RANK", text, 1);
            setenv("LOCAL_RANK", text, 1);
            setenv("WORLD_SIZE", world, 1);
            exit(run(rank));
        }
        if (child < 0)
            return 96;
    }
    while (wait(&status) > 0)
        worst = WIFEXITED(status) && WEXITSTATUS(status) > worst ? WEXITSTATUS(status) : worst;
    return worst;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int w = 0;
        char *equals = strchr(argv[i], '=');
        if (equals == NULL)
            return 2;
        *equals = '\0';
        while (w < WORDS && strcmp(argv[i], words[w]) != 0)
            w++;
        if (w == WORDS)
            return 2;
        given[w] = atoi(equals + 1);
    }
    if (given[COMMUNICATORS] > MOST_COMMUNICATORS || given[OPERATIONS] > MOST_OPERATIONS)
        return 2;
    arrived = mmap(NULL, MOST_OPERATIONS * sizeof *arrived, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arrived == MAP_FAILED)
        return 96;
    return given[RANKS] > 1 ? run_ranks() : run(0);
}

/* NVTX as a program has it: a slot for each function, which at first loads the library of
 * NVTX_INJECTION64_PATH and afterwards is what that library put there, or NULL. */
#define _GNU_SOURCE
#include "fake_program_nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void initialize_once(void);

#define DEFINE(number, name, result, parameters, arguments)                                        \
    static result init##name parameters;                                                           \
    static result(*slot##name) parameters = init##name;                                            \
    result nvtx##name parameters {                                                                 \
        result(*function) parameters = __atomic_load_n(&slot##name, __ATOMIC_ACQUIRE);             \
        return function != NULL ? function arguments : (result)0;                                  \
    }                                                                                              \
    static result init##name parameters {                                                          \
        initialize_once();                                                                         \
        return nvtx##name arguments;                                                               \
    }
NVTX_CORE_FUNCTIONS(DEFINE)
NVTX_CORE2_FUNCTIONS(DEFINE)

/* One entry more than there are functions, as in the headers. */
#define ENTRY(number, name, result, parameters, arguments) [number] = (nvtx_function *)&slot##name,
static nvtx_function *core[NVTX_CORE_SIZE + 1] = {NVTX_CORE_FUNCTIONS(ENTRY)};
static nvtx_function *core2[NVTX_CORE2_SIZE + 1] = {NVTX_CORE2_FUNCTIONS(ENTRY)};
#define INITIAL(number, name, result, parameters, arguments) [number] = (nvtx_function)init##name,
static const nvtx_function core_initial[] = {NVTX_CORE_FUNCTIONS(INITIAL)};
static const nvtx_function core2_initial[] = {NVTX_CORE2_FUNCTIONS(INITIAL)};

static int get_table(int module, nvtx_table *table, unsigned *size) {
    if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
        return 0; /* those of CUDA, OpenCL and the others name things; nobody asks for them */
    if (table != NULL)
        *table = module == NVTX_MODULE_CORE ? core : core2;
    if (size != NULL)
        *size = module == NVTX_MODULE_CORE ? NVTX_CORE_SIZE : NVTX_CORE2_SIZE;
    return 1;
}

static void ignore_version(uint32_t version) {
    (void)version;
}

static const void *get_export_table(uint32_t id) {
    static const struct nvtx_callbacks callbacks = {sizeof callbacks, get_table};
    static const struct nvtx_version_info info = {sizeof info, 3, 0, ignore_version};
    if (id == NVTX_ETID_CALLBACKS)
        return &callbacks;
    return id == NVTX_ETID_VERSIONINFO ? &info : NULL;
}

/* A library that refuses is unloaded, and then NVTX does nothing. */
static int inject(void) {
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path != NULL && *path != '\0' ? dlopen(path, RTLD_LAZY) : NULL;
    if (library == NULL)
        return 0;
    int (*entry)(nvtx_get_export_table);
    *(void **)&entry = dlsym(library, "InitializeInjectionNvtx2");
    if (entry != NULL && entry(get_export_table) != 0)
        return 1;
    dlclose(library);
    return 0;
}

static void clear(nvtx_function **slots, const nvtx_function *initial, unsigned size, int all) {
    for (unsigned i = 1; i < size; i++)
        if (all || *slots[i] == initial[i])
            __atomic_store_n(slots[i], NULL, __ATOMIC_RELEASE);
}

static void initialize(void) {
    int all = !inject();
    clear(core, core_initial, NVTX_CORE_SIZE, all);
    clear(core2, core2_initial, NVTX_CORE2_SIZE, all);
}

static void initialize_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize);
}

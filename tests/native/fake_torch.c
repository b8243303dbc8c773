/* What PyTorch's libtorch_cpu.so has for whoever observes operators (ATen/record_function.h of
 * PyTorch 2.13, compiled for x86-64): the callbacks, and objects laid out as its own. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define NAMED(symbol) __asm__(symbol)

struct record_function;
struct callback { /* at::RecordFunctionCallback */
    void *(*start)(void *result, const struct record_function *);
    void (*end)(const struct record_function *, void *context);
    double sampling_probability;
    bool scopes[10];
    bool needs_inputs, needs_outputs, needs_ids;
};

/* at::RecordFunction, as far as it is looked at: what stands between has been measured in
 * PyTorch 2.13. */
struct record_function {
    const void *vtable;
    uint8_t callbacks[112];
    uint8_t called, padding[7];
    uint8_t contexts[56];
    const char *name; /* where the variant with the name is */
    uint8_t variant[32];
    int64_t sequence;
    const void *inputs;
    size_t input_count;
    uint8_t rest[400];
    bool is_async;
};

/* c10::IValue, and at::TensorImpl as far as it is looked at. */
struct value {
    const void *payload;
    uint32_t tag;
};
struct tensor {
    const void *pointer;
    uint64_t before[17];
    uint64_t flags;
    uint64_t keys;
    uint64_t behind[4];
};
enum { TAG_TENSOR = 1, TAG_INT = 4, MOST_INPUTS = 64 };
static const uint64_t PYTHON_KEY = UINT64_C(1) << 52, COMPUTES_SIZES = UINT64_C(0xA) << 40;

enum { MOST = 16 };
static struct {
    uint64_t handle;
    struct callback callback;
} callbacks[MOST];
static uint64_t last_handle;
static int64_t next_sequence = 3;

API uint64_t add_callback(struct callback) NAMED("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
API uint64_t add_callback(struct callback callback) {
    for (int i = 0; i < MOST; i++)
        if (callbacks[i].handle == 0) {
            callbacks[i].callback = callback;
            return callbacks[i].handle = ++last_handle;
        }
    abort();
}

API void remove_callback(uint64_t handle) NAMED("_ZN2at14removeCallbackEm");
API void remove_callback(uint64_t handle) {
    for (int i = 0; i < MOST; i++)
        if (callbacks[i].handle == handle) {
            callbacks[i].handle = 0;
            return;
        }
    abort(); /* PyTorch warns */
}

API const char *name(const struct record_function *) NAMED("_ZNK2at14RecordFunction4nameEv");
API const char *name(const struct record_function *function) {
    return function->name;
}

API bool is_async(const struct record_function *) NAMED("_ZNK2at14RecordFunction7isAsyncEv");
API bool is_async(const struct record_function *function) {
    return function->is_async;
}

struct vector {
    void *begin, *end, *room_end;
};
struct string {
    char *text;
    size_t length;
    char within[16];
};

API struct vector *sizes(struct vector *, const struct record_function *,
                         bool) NAMED("_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb");
/* Each input is a matrix of 2 by 3. */
API struct vector *sizes(struct vector *result, const struct record_function *function,
                         bool is_flat) {
    struct vector *all = calloc(function->input_count + 1, sizeof *all);
    const struct value *inputs = function->inputs;
    (void)is_flat;
    for (size_t i = 0; i < function->input_count; i++)
        if (inputs[i].tag == TAG_TENSOR) {
            const struct tensor *tensor = inputs[i].payload;
            if (tensor->keys & PYTHON_KEY || tensor->flags & COMPUTES_SIZES)
                abort(); /* PyTorch would call Python */
        }
    for (size_t i = 0; i < function->input_count; i++) {
        int64_t *one = calloc(2, sizeof *one);
        one[0] = 2, one[1] = 3;
        all[i] = (struct vector){one, one + 2, one + 2};
    }
    *result = (struct vector){all, all + function->input_count, all + function->input_count};
    return result;
}

API struct vector *types(struct vector *, const struct record_function *) NAMED(
    "_ZN5torch8profiler4impl10inputTypesB5cxx11ERKN2at14RecordFunctionE");
/* One is short enough to lie in the string itself, the next is not. */
API struct vector *types(struct vector *result, const struct record_function *function) {
    struct string *all = calloc(function->input_count + 1, sizeof *all);
    for (size_t i = 0; i < function->input_count; i++) {
        const char *text = i % 2 == 0 ? "float" : "c10::complex<c10::Half>";
        all[i].length = strlen(text);
        all[i].text = all[i].length < sizeof all[i].within ? all[i].within : strdup(text);
        memcpy(all[i].text, text, all[i].length);
    }
    *result = (struct vector){all, all + function->input_count, all + function->input_count};
    return result;
}

API void operator_delete(void *) NAMED("_ZdlPv");
API void operator_delete(void *memory) {
    free(memory);
}

static bool runs(int i, int scope) {
    return callbacks[i].handle != 0 && callbacks[i].callback.scopes[scope];
}

/* What an operator does around `inside`.  The sequence number is -1 for none.  Its inputs are
 * tensors, the last of which has these keys, and computes its sizes if the highest bit is set; behind
 * four of them is a number. */
API void fakeTorchRun(const char *text, int scope, int64_t sequence, int inputs, int async,
                      uint64_t keys, void (*inside)(void));
API void fakeTorchRun(const char *text, int scope, int64_t sequence, int inputs, int async,
                      uint64_t keys, void (*inside)(void)) {
    static uint64_t made;
    struct tensor tensors[2] = {{.keys = 1, .flags = 0x106}, {.keys = keys << 1 >> 1, .flags = 0x106}};
    struct value values[MOST_INPUTS];
    static const char *shift = NULL; /* FAKE_TORCH_LAYOUT=other: objects of another version */
    struct record_function function = {.name = text, .sequence = sequence, .is_async = async};
    void *contexts[MOST] = {NULL};
    struct callback ran[MOST] = {0};
    if (shift == NULL)
        shift = getenv("FAKE_TORCH_LAYOUT") ? getenv("FAKE_TORCH_LAYOUT") : "";
    memset(function.callbacks, 0xA5, sizeof function.callbacks);
    if (inputs > MOST_INPUTS)
        abort();
    tensors[1].before[2] = ++made << 7; /* as pointers, another one each time, at regular distances */
    tensors[1].flags = 0x106 | made << 56; /* with bits that nobody uses */
    if (keys >> 63)
        tensors[1].flags |= COMPUTES_SIZES;
    for (int i = 0; i < inputs; i++)
        values[i] = (struct value){&tensors[i == inputs - 1], TAG_TENSOR};
    if (inputs > 4)
        values[4] = (struct value){(const void *)7, TAG_INT};
    if (strcmp(shift, "keys") == 0) /* a tensor of another version */
        tensors[1].behind[0] = tensors[1].keys;
    if (strcmp(shift, "other") == 0)
        function.sequence = 0;
    for (int i = 0; i < MOST; i++)
        if (runs(i, scope)) {
            ran[i] = callbacks[i].callback;
            function.inputs = ran[i].needs_inputs && inputs ? values : NULL;
            function.input_count = ran[i].needs_inputs ? (size_t)inputs : 0;
            ran[i].start(&contexts[i], &function);
            if (contexts[i] != NULL)
                abort(); /* PyTorch would destroy it */
        }
    if (inside != NULL)
        inside();
    for (int i = MOST - 1; i >= 0; i--)
        if (ran[i].end != NULL)
            ran[i].end(&function, contexts[i]);
}

API int64_t fakeTorchNextSequence(void);
API int64_t fakeTorchNextSequence(void) {
    return next_sequence++;
}

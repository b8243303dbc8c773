/* PyTorch calls whoever asks for it at the beginning and the end of each operator
 * (at::addGlobalCallback of ATen/record_function.h).  That is C++, whose functions are found here
 * by their mangled names, so that nothing of PyTorch is needed to compile this:
 *
 *	struct RecordFunctionCallback     two functions, a double, a bool for each of ten scopes,
 *	                                  and whether inputs, outputs and ids are needed
 *	start(result, record_function)    returns a std::unique_ptr, hence by a hidden pointer
 *	end(record_function, context)
 *
 * Where the sequence number lies in a RecordFunction is looked for in operators whose number is
 * known (cupti_etl_torch_probe), behind which their inputs must lie; where it is not found, nothing is
 * observed. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "etl/atomics.h"
#include "etl/inside.h"
#include "etl/libcupti.h"
#include "inject/buffers.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/ranges.h"
#include "inject/recording.h"
#include "inject/torch.h"
#include "inject/torch_inputs.h"
#include "../generated/env.h"

enum { SCOPE_FUNCTION = 0, SCOPE_BACKWARD = 1, SCOPE_USER = 7, SCOPES = 10 };

typedef void *start_fn(void *result, const void *function);
typedef void end_fn(const void *function, void *context);

/* at::RecordFunctionCallback, with zeros behind it. */
struct callback {
	start_fn *start;
	end_fn *end;
	double sampling_probability;
	bool scopes[SCOPES];
	bool needs_inputs, needs_outputs, needs_ids;
	uint8_t behind[27];
};

static struct torch {
	uint64_t (*add_callback)(struct callback);
	void (*remove_callback)(uint64_t);
	const char *(*name_of)(const void *function);
	bool (*is_async)(const void *function);
} torch;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_in_session, is_noted, is_hooked; /* with `lock` held */
static int observed; /* enum etl_torch_observed; with `lock` held */
static uint64_t callbacks[3];
static unsigned n_callbacks;
static char noted[256];
static _Atomic bool is_ready; /* a session wants ranges */
static _Atomic bool has_sizes;
static bool tells_inputs;
static size_t sequence_at; /* in a RecordFunction; behind it are the inputs and their number */

static uint64_t add(start_fn *start, end_fn *end, int scope, bool needs_inputs)
{
	struct callback callback = { .start = start,
				     .end = end,
				     .sampling_probability = 1,
				     .needs_inputs = needs_inputs };

	callback.scopes[scope] = true;
	return torch.add_callback(callback);
}

/* ---- ranges */

/* What is open on a thread. */
#define MOST_OPEN 512u
static __thread struct {
	uint32_t depth;
	struct etl_range_mark marks[MOST_OPEN];
} open_ranges[ETL_RANGE_DOMAINS];

/* Whether it is to be recorded, which etl_range_open() then is called for. */
static bool begin(enum etl_range_domain domain)
{
	uint32_t depth = open_ranges[domain].depth++;

	if (depth >= MOST_OPEN)
		return false;
	open_ranges[domain].marks[depth] = (struct etl_range_mark){ 0 };
	/* A forked child has no session. */
	return etl_load(&is_ready) && etl_recording_is_on() && etl_load(&etl_injector.active);
}

static void open_range(enum etl_range_domain domain, struct etl_text name, int64_t payload)
{
	open_ranges[domain].marks[open_ranges[domain].depth - 1] =
		etl_range_open(domain, name, payload);
}

static void end(enum etl_range_domain domain)
{
	uint32_t depth = open_ranges[domain].depth;

	if (depth == 0)
		return;
	open_ranges[domain].depth = --depth;
	if (depth < MOST_OPEN && open_ranges[domain].marks[depth].marker_id)
		etl_range_close(domain, open_ranges[domain].marks[depth]);
}

static const struct etl_torch_value *inputs_of(const void *function)
{
	const struct etl_torch_value *inputs;

	memcpy(&inputs, (const uint8_t *)function + sequence_at + 8, sizeof inputs);
	return inputs;
}

static size_t number_of_inputs(const void *function)
{
	size_t number;

	memcpy(&number, (const uint8_t *)function + sequence_at + 16, sizeof number);
	return number;
}

static void begin_function(enum etl_range_domain domain, const void *function)
{
	char text[2048];
	const char *name;
	size_t length;
	int64_t sequence;
	int saved = errno;

	if (!begin(domain))
		return;
	name = torch.name_of(function);
	length = strnlen(name, sizeof text - 1);
	memcpy(&sequence, (const uint8_t *)function + sequence_at, sizeof sequence);
	if (etl_peek(&has_sizes) && domain == ETL_PYTORCH_OPERATOR) {
		memcpy(text, name, length);
		text[length] = '\0';
		length += etl_torch_inputs(function, inputs_of(function), number_of_inputs(function),
					   text + length, sizeof text - length);
		name = text;
	}
	open_range(domain, (struct etl_text){ name, length }, sequence);
	errno = saved;
}

/* No context is kept: an empty std::unique_ptr. */
#define OBSERVE(NAME, DOMAIN, IS_MEANT)                                    \
	static void *start_##NAME(void *result, const void *function)      \
	{                                                                  \
		memset(result, 0, sizeof(void *));                         \
		if (IS_MEANT)                                              \
			begin_function(DOMAIN, function);                  \
		return result;                                             \
	}                                                                  \
	static void end_##NAME(const void *function, void *context)        \
	{                                                                  \
		(void)context;                                             \
		if (IS_MEANT)                                              \
			end(DOMAIN);                                       \
		(void)function;                                            \
	}

OBSERVE(operator, ETL_PYTORCH_OPERATOR, true)
OBSERVE(backward, ETL_PYTORCH_BACKWARD, true)
/* Those of collectives may end on another thread. */
OBSERVE(annotation, ETL_PYTORCH_ANNOTATION, !torch.is_async(function))

void cupti_etl_torch_module_push(const char *text)
{
	int saved = errno;

	if (begin(ETL_PYTORCH_MODULE))
		open_range(ETL_PYTORCH_MODULE, (struct etl_text){ text, strlen(text) }, -1);
	errno = saved;
}

void cupti_etl_torch_module_pop(void)
{
	int saved = errno;

	end(ETL_PYTORCH_MODULE);
	errno = saved;
}

/* ---- where the sequence number lies */

#define LOOKED_AT 512u
static uint64_t probe_callback;
static __thread bool is_probing;
static __thread uint64_t seen[LOOKED_AT / 8];
static uint64_t candidates; /* bit n: at byte 8 n */
static unsigned probed;
static bool is_probing_keys;

static void *start_probe(void *result, const void *function)
{
	memset(result, 0, sizeof(void *));
	/* It lies on the stack, among the frames of whoever calls the operator. */
	if (is_probing)
		memcpy(seen, function, sizeof seen);
	return result;
}

static void end_probe(const void *function, void *context)
{
	(void)function, (void)context;
}

/* The number, then its inputs: their address and how many. */
static bool fits(unsigned at, int64_t sequence)
{
	return seen[at] == (uint64_t)sequence && seen[at + 1] && seen[at + 2] == 1;
}

void cupti_etl_torch_probe(int64_t sequence)
{
	for (unsigned at = 0; at < LOOKED_AT / 8 - 2; at++)
		if (!fits(at, sequence))
			candidates &= ~(UINT64_C(1) << at);
	candidates &= (UINT64_C(1) << (LOOKED_AT / 8 - 2)) - 1;
	probed++;
}

#define ENOUGH_PROBES 4u

static int settle(struct etl_error *error)
{
	if (!is_probing)
		return 0;
	is_probing = false;
	torch.remove_callback(probe_callback);
	if (probed < ENOUGH_PROBES || !candidates || candidates & (candidates - 1))
		return etl_fail(error, ENOTSUP,
				"the objects of this PyTorch do not lie as those of versions that are known");
	sequence_at = 8u * (size_t)__builtin_ctzll(candidates);
	return 0;
}

/* ---- where the dispatch keys of a tensor lie */

static __thread bool is_looking; /* at the first operator that this thread runs */

static void *start_keys_probe(void *result, const void *function)
{
	memset(result, 0, sizeof(void *));
	if (is_looking && number_of_inputs(function) == 1) {
		etl_torch_keys_look(inputs_of(function));
		is_looking = false;
	}
	return result;
}

int cupti_etl_torch_look_at_keys(uint64_t others, struct etl_error *error)
{
	int code = settle(error);

	if (code < 0)
		return code;
	etl_torch_keys_begin(others);
	probe_callback = add(start_keys_probe, end_probe, SCOPE_FUNCTION, true);
	is_looking = is_probing_keys = true;
	return 0;
}

void cupti_etl_torch_probe_keys(uint64_t keys)
{
	etl_torch_keys_compare(keys);
	is_looking = true;
}

void cupti_etl_torch_probe_flags(int computes_sizes)
{
	etl_torch_flags_compare(computes_sizes);
	is_looking = true;
}

static bool keys_are_known(void)
{
	if (!is_probing_keys)
		return false;
	is_looking = is_probing_keys = false;
	torch.remove_callback(probe_callback);
	return etl_torch_keys_end();
}

/* ---- beginning and end */

int cupti_etl_torch_open(const char *path, struct etl_error *error)
{
	static const struct etl_symbol symbols[] = {
		ETL_REQUIRED(torch, add_callback, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"),
		ETL_REQUIRED(torch, remove_callback, "_ZN2at14removeCallbackEm"),
		ETL_REQUIRED(torch, name_of, "_ZNK2at14RecordFunction4nameEv"),
		ETL_REQUIRED(torch, is_async, "_ZNK2at14RecordFunction7isAsyncEv"),
	};
	void *library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
	const char *missing;

	if (!library)
		return etl_fail(error, ENOENT, "%s is not loaded", path);
	missing = etl_resolve(library, symbols, sizeof symbols / sizeof *symbols, &torch);
	if (missing)
		return etl_fail(error, ENOTSUP, "this PyTorch has no %s", missing);
	tells_inputs = etl_torch_inputs_open(library);
	candidates = UINT64_MAX;
	probed = 0;
	is_probing = true;
	probe_callback = add(start_probe, end_probe, SCOPE_FUNCTION, true);
	return 0;
}

/* With `lock` held. */
static void start_observing(void)
{
	if (!is_in_session || n_callbacks || etl_peek(&is_ready))
		return;
	if (noted[0] && !is_noted)
		etl_recording_note(noted);
	is_noted = noted[0];
	if (!observed)
		return;
	etl_store(&is_ready, true);
	if (!(observed & ETL_TORCH_OPERATORS))
		return;
	etl_put(&has_sizes, observed & ETL_TORCH_SIZES);
	callbacks[n_callbacks++] =
		add(start_operator, end_operator, SCOPE_FUNCTION, observed & ETL_TORCH_SIZES);
	callbacks[n_callbacks++] = add(start_backward, end_backward, SCOPE_BACKWARD, false);
	callbacks[n_callbacks++] = add(start_annotation, end_annotation, SCOPE_USER, false);
}

int cupti_etl_torch_observe(int what, struct etl_error *error)
{
	int code = 0;

	if (what & ETL_TORCH_OPERATORS)
		code = settle(error);
	if (code < 0)
		return code;
	if (what & ETL_TORCH_SIZES && !(keys_are_known() && tells_inputs)) {
		cupti_etl_torch_note("sizes of PyTorch's inputs are not recorded: this version does not tell them");
		what &= ~ETL_TORCH_SIZES;
	}
	pthread_mutex_lock(&lock);
	is_hooked = true;
	observed = what;
	start_observing();
	pthread_mutex_unlock(&lock);
	return 0;
}

void cupti_etl_torch_note(const char *text)
{
	pthread_mutex_lock(&lock);
	is_hooked = true;
	snprintf(noted, sizeof noted, "%s", text);
	start_observing();
	pthread_mutex_unlock(&lock);
}

void etl_torch_begin(void)
{
	pthread_mutex_lock(&lock);
	is_in_session = true;
	is_noted = false;
	start_observing();
	pthread_mutex_unlock(&lock);
}

void etl_torch_end(void)
{
	pthread_mutex_lock(&lock);
	etl_store(&is_ready, false);
	while (n_callbacks)
		torch.remove_callback(callbacks[--n_callbacks]);
	is_in_session = false;
	pthread_mutex_unlock(&lock);
}

void etl_torch_finish(void)
{
	bool is_missing;

	pthread_mutex_lock(&lock);
	is_missing = !is_hooked;
	pthread_mutex_unlock(&lock);
	/* PyTorch starts processes of its own that compile, and launch nothing. */
	if (!is_missing || !etl_env(ETL_ENV_PYTORCH) || !etl_had_kernels() ||
	    !dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY))
		return;
	etl_recording_note("ranges of PyTorch are not recorded: Python ran without what --pytorch "
			   "puts on PYTHONPATH (python -I, -E or -S, or another PYTHONPATH)");
}

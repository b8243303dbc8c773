/* Ranges of NVTX as switches.
 *
 * CUPTI puts its functions into NVTX's tables (nvtx_table.c); ours go before them, so
 * that a range is seen at once, before CUDA is initialised, and without taking a
 * subscription from anybody.  Types and numbers are those of the public nvtxTypes.h and
 * nvToolsExt.h (NVTX 3). */
#include <string.h>
#include <wchar.h>

#include "etl/atomics.h"
#include "etl/hash.h"
#include "inject/nvtx.h"
#include "inject/range.h"
#include "inject/range_user.h"

#define PREFIX "nvtx:"

typedef etl_nvtx_function function;
typedef uint64_t range_id;

/* The part of nvtxEventAttributes_t that is read. */
struct attributes {
	uint16_t version, size;
	uint32_t category, color_type, color, payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} message;
};

enum { CORE = 1, CORE2 = 5 };
enum { ASCII = 1, WIDE = 2, REGISTERED = 3 };

/* ---- what is waited for */

#define MAX_HANDLES 64
/* Registered strings that are the name, and domains of the right name. */
static _Atomic(const void *) strings[MAX_HANDLES], domains[MAX_HANDLES];

static const char *setting(void)
{
	const char *range = etl_range();

	return range && strncmp(range, PREFIX, sizeof PREFIX - 1) == 0 ? range + sizeof PREFIX - 1 :
									 NULL;
}

/* The name ends at the last @, behind which the domain stands. */
static size_t name_length(void)
{
	const char *at = strrchr(setting(), '@');

	return at ? (size_t)(at - setting()) : strlen(setting());
}

static bool is_name(const char *text)
{
	size_t length = name_length();

	return text && strncmp(text, setting(), length) == 0 && text[length] == '\0';
}

static bool is_wide_name(const wchar_t *text)
{
	size_t length = name_length();

	for (size_t i = 0; text && i < length; i++)
		if (text[i] != (unsigned char)setting()[i])
			return false;
	return text && text[length] == L'\0';
}

static bool has(const _Atomic(const void *) *handles, const void *handle)
{
	for (int i = 0; handle && i < MAX_HANDLES; i++)
		if (etl_load(&handles[i]) == handle)
			return true;
	return false;
}

static void keep(_Atomic(const void *) *handles, const void *handle)
{
	for (int i = 0; handle && i < MAX_HANDLES && !has(handles, handle); i++) {
		const void *none = NULL;

		if (atomic_compare_exchange_strong(&handles[i], &none, handle))
			return;
	}
}

static bool is_meant(const struct attributes *attributes)
{
	if (!attributes)
		return false;
	switch (attributes->message_type) {
	case ASCII:
		return is_name(attributes->message.ascii);
	case WIDE:
		return is_wide_name(attributes->message.wide);
	case REGISTERED:
		return has(strings, attributes->message.registered);
	default:
		return false;
	}
}

/* Without @DOMAIN, any. */
static bool is_domain(const void *domain)
{
	return !strrchr(setting(), '@') || has(domains, domain);
}

/* ---- which ranges are open */

/* NVTX keeps a stack of pushed ranges for each thread and domain. */
#define MAX_STACKS 8
struct stack {
	const void *domain;
	uint32_t depth;
	uint64_t meant; /* bit n: the range at depth n is one that is waited for */
};
static __thread struct stack stacks[MAX_STACKS];

/* Ranges that one thread starts and another may end. */
static _Atomic uint64_t started[MAX_HANDLES];

/* The domain's, or an empty one; NULL: more domains than that are not followed. */
static struct stack *stack_of(const void *domain)
{
	struct stack *empty = NULL;

	for (int i = 0; i < MAX_STACKS; i++) {
		if (stacks[i].depth == 0)
			empty = empty ? empty : &stacks[i];
		else if (stacks[i].domain == domain)
			return &stacks[i];
	}
	if (empty)
		empty->domain = domain;
	return empty;
}

static void push(const void *domain, bool meant)
{
	struct stack *stack = stack_of(domain);

	if (!stack)
		return;
	if (meant && stack->depth < 64) {
		stack->meant |= UINT64_C(1) << stack->depth;
		etl_range_user_count(1);
	}
	stack->depth++;
}

static void pop(const void *domain)
{
	struct stack *stack = stack_of(domain);

	if (!stack || stack->depth == 0)
		return;
	stack->depth--;
	if (stack->depth < 64 && stack->meant & UINT64_C(1) << stack->depth) {
		stack->meant &= ~(UINT64_C(1) << stack->depth);
		etl_range_user_count(-1);
	}
}

static void note_start(range_id id)
{
	for (int i = 0; id && i < MAX_HANDLES; i++)
		if (etl_claim(&started[i], 0, id))
			return;
	etl_range_user_count(-1); /* its end could not be recognised */
}

static void note_end(range_id id)
{
	for (int i = 0; id && i < MAX_HANDLES; i++)
		if (etl_claim(&started[i], id, 0))
			etl_range_user_count(-1);
}

/* ---- our functions: switch on before, and off after CUPTI has seen the range */

enum hook {
	START_EX, START_A, START_W, END, PUSH_EX, PUSH_A, PUSH_W, POP,
	DOMAIN_START, DOMAIN_END, DOMAIN_PUSH, DOMAIN_POP,
	STRING_A, STRING_W, DOMAIN_A, HOOKS,
};

static etl_nvtx_slot theirs[HOOKS];

/* Calls CUPTI's function, if it has one. */
#define CALL(otherwise, result, hook, types, ...)                                               \
	(etl_load(&theirs[hook]) ? ((result(*) types)etl_load(&theirs[hook]))(__VA_ARGS__) :    \
				   (otherwise))
#define NO_RANGE_ID ((range_id)0)
#define NO_DEPTH (-2) /* NVTX_NO_PUSH_POP_TRACKING */

#define START(NAME, HOOK, MEANT, PARAMETERS, TYPES, ...)               \
	static range_id NAME PARAMETERS                               \
	{                                                             \
		bool meant = MEANT;                                   \
		range_id id;                                          \
		if (meant)                                            \
			etl_range_user_count(1);                           \
		id = CALL(NO_RANGE_ID, range_id, HOOK, TYPES, __VA_ARGS__); \
		if (meant)                                            \
			note_start(id);                               \
		return id;                                            \
	}
#define PUSH(NAME, HOOK, DOMAIN, MEANT, PARAMETERS, TYPES, ...)        \
	static int NAME PARAMETERS                                    \
	{                                                             \
		push(DOMAIN, MEANT);                                  \
		return CALL(NO_DEPTH, int, HOOK, TYPES, __VA_ARGS__); \
	}

START(start_ex, START_EX, is_domain(NULL) && is_meant(a), (const struct attributes *a),
      (const struct attributes *), a)
START(start_a, START_A, is_domain(NULL) && is_name(m), (const char *m), (const char *), m)
START(start_w, START_W, is_domain(NULL) && is_wide_name(m), (const wchar_t *m),
      (const wchar_t *), m)
START(domain_start, DOMAIN_START, is_domain(d) && is_meant(a),
      (const void *d, const struct attributes *a), (const void *, const struct attributes *), d, a)
PUSH(push_ex, PUSH_EX, NULL, is_domain(NULL) && is_meant(a), (const struct attributes *a),
     (const struct attributes *), a)
PUSH(push_a, PUSH_A, NULL, is_domain(NULL) && is_name(m), (const char *m), (const char *), m)
PUSH(push_w, PUSH_W, NULL, is_domain(NULL) && is_wide_name(m), (const wchar_t *m),
     (const wchar_t *), m)
PUSH(domain_push, DOMAIN_PUSH, d, is_domain(d) && is_meant(a),
     (const void *d, const struct attributes *a), (const void *, const struct attributes *), d, a)

static void end(range_id id)
{
	function next = etl_load(&theirs[END]);

	if (next)
		((void (*)(range_id))next)(id);
	note_end(id);
}

static void domain_end(const void *domain, range_id id)
{
	function next = etl_load(&theirs[DOMAIN_END]);

	if (next)
		((void (*)(const void *, range_id))next)(domain, id);
	note_end(id);
}

static int pop_(void)
{
	function next = etl_load(&theirs[POP]);
	int depth = next ? ((int (*)(void))next)() : NO_DEPTH;

	pop(NULL);
	return depth;
}

static int domain_pop(const void *domain)
{
	int depth = CALL(NO_DEPTH, int, DOMAIN_POP, (const void *), domain);

	pop(domain);
	return depth;
}

static const void *string_a(const void *domain, const char *text)
{
	const void *handle = CALL(NULL, const void *, STRING_A, (const void *, const char *), domain,
				  text);

	if (is_name(text))
		keep(strings, handle);
	return handle;
}

static const void *string_w(const void *domain, const wchar_t *text)
{
	const void *handle = CALL(NULL, const void *, STRING_W, (const void *, const wchar_t *),
				  domain, text);

	if (is_wide_name(text))
		keep(strings, handle);
	return handle;
}

static const void *domain_a(const char *name)
{
	const void *handle = CALL(NULL, const void *, DOMAIN_A, (const char *), name);
	const char *at = strrchr(setting(), '@');

	if (at && name && strcmp(name, at + 1) == 0)
		keep(domains, handle);
	return handle;
}

/* ---- into NVTX's tables */

/* Casts between function types go through `function`, and come back before the call. */
#define HOOK(module, id, ours) { module, id, (function)ours }
static const struct {
	uint8_t module, id; /* NvtxCallbackIdCore, NvtxCallbackIdCore2 */
	function ours;
} hooks[HOOKS] = {
	[START_EX] = HOOK(CORE, 4, start_ex),	       [START_A] = HOOK(CORE, 5, start_a),
	[START_W] = HOOK(CORE, 6, start_w),	       [END] = HOOK(CORE, 7, end),
	[PUSH_EX] = HOOK(CORE, 8, push_ex),	       [PUSH_A] = HOOK(CORE, 9, push_a),
	[PUSH_W] = HOOK(CORE, 10, push_w),	       [POP] = HOOK(CORE, 11, pop_),
	[DOMAIN_START] = HOOK(CORE2, 2, domain_start), [DOMAIN_END] = HOOK(CORE2, 3, domain_end),
	[DOMAIN_PUSH] = HOOK(CORE2, 4, domain_push),   [DOMAIN_POP] = HOOK(CORE2, 5, domain_pop),
	[STRING_A] = HOOK(CORE2, 10, string_a),	       [STRING_W] = HOOK(CORE2, 11, string_w),
	[DOMAIN_A] = HOOK(CORE2, 12, domain_a),
};

etl_nvtx_slot *etl_nvtx_slot_of(uint32_t module, unsigned id, function *pointer)
{
	for (int hook = 0; setting() && hook < HOOKS; hook++)
		if (hooks[hook].module == module && hooks[hook].id == id) {
			*pointer = hooks[hook].ours;
			return &theirs[hook];
		}
	return (etl_nvtx_slot *)pointer;
}

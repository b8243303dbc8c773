#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "inject/torch_inputs.h"

/* libstdc++'s vector and, of its newer ABI, string. */
struct vector {
	void *begin, *end, *room_end;
};
struct string {
	char *text;
	size_t length;
	char within[16];
};

/* Both return by a hidden pointer: std::vector<std::vector<int64_t>> and
 * std::vector<std::string>. */
static struct vector *(*sizes_of)(struct vector *result, const void *function, bool is_flat);
static struct vector *(*types_of)(struct vector *result, const void *function);
static void (*delete)(void *);

static bool find(void *library, const char *symbol, void *function)
{
	void *address = dlsym(library, symbol);

	memcpy(function, &address, sizeof address);
	return address != NULL;
}

bool etl_torch_inputs_open(void *library)
{
	return find(library, "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb",
		    &sizes_of) &&
	       find(library, "_ZN5torch8profiler4impl10inputTypesB5cxx11ERKN2at14RecordFunctionE",
		    &types_of) &&
	       find(library, "_ZdlPv", &delete);
}

/* ---- which tensors are asked */

/* at::TensorImpl has no more. */
#define WORDS 24u
#define ENOUGH_KEYS 4u
#define ENOUGH_TOLD 16u

static uint64_t others, seen[WORDS];
static uint64_t always[WORDS], elsewhere[WORDS]; /* bits of those that compute sizes, and of others */
static uint64_t computing_flags;
static uint32_t tensor_tag, candidates; /* bit n: word n */
static unsigned compared, told, keys_at, flags_at;

void etl_torch_keys_begin(uint64_t keys)
{
	others = keys;
	candidates = (1u << WORDS) - 1;
	compared = told = 0;
	memset(always, 0xFF, sizeof always);
	memset(elsewhere, 0, sizeof elsewhere);
}

void etl_torch_keys_look(const struct etl_torch_value *tensor)
{
	tensor_tag = tensor->tag;
	memcpy(seen, tensor->payload, sizeof seen);
}

void etl_torch_keys_compare(uint64_t keys)
{
	for (unsigned at = 0; at < WORDS; at++)
		if (seen[at] != keys || keys & others)
			candidates &= ~(1u << at);
	memset(seen, 0, sizeof seen);
	compared++;
}

void etl_torch_flags_compare(bool computes_sizes)
{
	for (unsigned at = 0; at < WORDS; at++) {
		if (computes_sizes)
			always[at] &= seen[at];
		else
			elsewhere[at] |= seen[at];
	}
	told++;
}

/* In a word of flags, bits that are not used can be anything; in a pointer, all are. */
static bool find_flags(void)
{
	unsigned found = 0;

	for (unsigned at = 0; at < WORDS; at++)
		if (always[at] & ~elsewhere[at]) {
			flags_at = at;
			computing_flags = always[at] & ~elsewhere[at];
			found++;
		}
	return told >= ENOUGH_TOLD && found == 1 && __builtin_popcountll(computing_flags) <= 4;
}

bool etl_torch_keys_end(void)
{
	if (compared < ENOUGH_KEYS || !candidates || candidates & (candidates - 1))
		return false;
	keys_at = (unsigned)__builtin_ctz(candidates);
	return find_flags();
}

static bool is_to_be_asked(const struct etl_torch_value *inputs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (inputs[i].tag == tensor_tag && inputs[i].payload &&
		    (inputs[i].payload[keys_at] & others ||
		     inputs[i].payload[flags_at] & computing_flags))
			return false;
	return true;
}

/* ---- as text */

struct output {
	char *text;
	size_t used, room;
	bool is_full;
};

static void write_bytes(struct output *out, const char *bytes, size_t n)
{
	if (n > out->room - out->used) {
		out->is_full = true;
		return;
	}
	memcpy(out->text + out->used, bytes, n);
	out->used += n;
}

static void write_text(struct output *out, const char *text)
{
	write_bytes(out, text, strlen(text));
}

/* Several times as quick as printf. */
static void write_number(struct output *out, int64_t number)
{
	uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char digits[20];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (number < 0)
		write_text(out, "-");
	write_bytes(out, digits + at, sizeof digits - at);
}

/* False: there are none. */
static bool write_sizes(struct output *out, const void *function)
{
	struct vector outer;

	sizes_of(&outer, function, false);
	for (struct vector *one = outer.begin; one != outer.end; one++) {
		write_text(out, one == outer.begin ? "[" : ", [");
		for (int64_t *size = one->begin; size != one->end; size++) {
			write_text(out, size == one->begin ? "" : ", ");
			write_number(out, *size);
		}
		write_text(out, "]");
		if (one->begin)
			delete (one->begin);
	}
	if (outer.begin)
		delete (outer.begin);
	return outer.begin != outer.end;
}

static void write_types(struct output *out, const void *function)
{
	struct vector all;

	types_of(&all, function);
	for (struct string *one = all.begin; one != all.end; one++) {
		/* Names of types: nothing in them needs to be escaped. */
		write_text(out, one == all.begin ? "\"" : ", \"");
		write_bytes(out, one->text, one->length);
		write_text(out, "\"");
		if (one->text != one->within)
			delete (one->text);
	}
	if (all.begin)
		delete (all.begin);
}

size_t etl_torch_inputs(const void *function, const struct etl_torch_value *inputs, size_t n,
			char *text, size_t room)
{
	struct output out = { .text = text, .room = room - 1 };

	text[0] = '\0';
	if (!delete || !is_to_be_asked(inputs, n))
		return 0;
	write_text(&out, ", sizes = [");
	if (!write_sizes(&out, function)) {
		text[0] = '\0';
		return 0;
	}
	write_text(&out, "], types = [");
	write_types(&out, function);
	write_text(&out, "]");
	if (out.is_full)
		out.used = 0;
	text[out.used] = '\0';
	return out.used;
}

/* Ranges of NVTX in several domains, whose stacks know nothing of each other: one that is
 * waited for is open from its push to its pop, whatever the other domains do meanwhile.
 * CUPTI's functions are called from when CUPTI is initialised, and not before. */
#include <string.h>

#include "check.h"
#include "inject/injector.h"
#include "inject/nvtx_table.h"
#include "inject/range.h"
#include "inject/range_user.h"
#include "../generated/env.h"

#define DOMAINS 3
#define TURNS 100000
#define DEEPEST 20
/* NvtxCallbackModule and NvtxCallbackIdCore2 of the public nvtxTypes.h. */
enum { CORE = 1, CORE2 = 5, DOMAIN_PUSH = 4, DOMAIN_POP = 5, SIZE = 16 };

typedef void (*function)(void);

struct attributes {
	uint16_t version, size;
	uint32_t category, color_type, color, payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const char *message;
};

static function functions[SIZE], *pointers[SIZE];

static int module_table(uint32_t module, function ***table, unsigned *size)
{
	for (int i = 0; i < SIZE; i++)
		pointers[i] = &functions[i];
	*table = pointers;
	*size = SIZE;
	return module == CORE2;
}

static const struct {
	size_t size;
	int (*module_table)(uint32_t, function ***, unsigned *);
} callbacks = { sizeof callbacks, module_table };

static const void *get_export_table(uint32_t id)
{
	(void)id;
	return &callbacks;
}

/* What CUPTI puts there. */
static int calls;
struct etl_injector etl_injector;

static int cupti_push(const void *domain, const struct attributes *attributes)
{
	(void)domain, (void)attributes;
	return calls++;
}

static int cupti_pop(const void *domain)
{
	(void)domain;
	return calls++;
}

static int initialize2(void *address)
{
	(void)address;
	functions[DOMAIN_PUSH] = (function)cupti_push;
	functions[DOMAIN_POP] = (function)cupti_pop;
	return 0;
}

/* No capture is running: nothing is switched. */
void etl_range_user_count(int by)
{
	etl_range_count(by);
}

static void push(const void *domain, const char *name)
{
	const struct attributes attributes = { .message_type = 1, .message = name };

	((int (*)(const void *, const struct attributes *))functions[DOMAIN_PUSH])(domain,
										    &attributes);
}

static void pop(const void *domain)
{
	((int (*)(const void *))functions[DOMAIN_POP])(domain);
}

int main(void)
{
	const void *(*get)(uint32_t) = get_export_table;
	bool is_meant[DOMAINS][DEEPEST];
	int depth[DOMAINS] = { 0 }, open = 0;
	uint64_t seed = 1;
	void *address;

	CHECK(setenv(ETL_ENV_RANGE, "nvtx:step", 1) == 0);
	memcpy(&address, &get, sizeof address);
	etl_injector.cupti.nvtx_initialize2 = initialize2;
	CHECK(etl_nvtx_initialize(address));
	CHECK(!etl_range_is_open());
	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t chance = random_next(&seed);
		int i = (int)(chance % DOMAINS);
		const void *domain = &depth[i];

		if (chance & 256 && depth[i] < DEEPEST) {
			bool meant = (chance & 0xe00) == 0;

			push(domain, meant ? "step" : "other");
			is_meant[i][depth[i]++] = meant;
			open += meant;
		} else if (depth[i]) {
			pop(domain);
			open -= is_meant[i][--depth[i]];
		}
		CHECK(etl_range_is_open() == (open > 0));
		if (turn == TURNS / 2) {
			CHECK(calls == 0);
			etl_nvtx_release();
		}
	}
	CHECK(calls > TURNS / 4);
	return 0;
}

/* A program that uses NVTX holds a slot for each function, into which an injected library puts
 * its own.  These are ours; types and numbers are those of the public nvtxTypes.h and
 * nvToolsExt.h (NVTX 3). */
#include <pthread.h>
#include <string.h>

#include "etl/atomics.h"
#include "etl/hash.h"
#include "inject/injector.h"
#include "inject/nvtx_client.h"

typedef void (*function)(void);

enum { EXPORT_CALLBACKS = 1, EXPORT_VERSION = 3 };
enum { CORE = 1, CORE2 = 5, FUNCTIONS = 16 };
enum { DOMAIN_PUSH = 4, DOMAIN_POP = 5, REGISTER_STRING = 10, DOMAIN_CREATE = 12 };
enum { ASCII = 1, REGISTERED = 3, PAYLOAD_INT64 = 2, NVTX_VERSION = 3 };

/* nvtxEventAttributes_t */
struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	int64_t payload;
	int32_t message_type;
	const void *message;
};

/* The first entry of a table, and one behind it, are NULL. */
static function core[FUNCTIONS], core2[FUNCTIONS];
static function *core_places[FUNCTIONS + 1], *core2_places[FUNCTIONS + 1];

static int module_table(uint32_t module, function ***table, unsigned *size)
{
	if (module != CORE && module != CORE2)
		return 0;
	for (int i = 1; i < FUNCTIONS; i++) {
		core_places[i] = &core[i];
		core2_places[i] = &core2[i];
	}
	if (table)
		*table = module == CORE ? core_places : core2_places;
	if (size)
		*size = FUNCTIONS;
	return 1;
}

static void ignore_version(uint32_t version)
{
	(void)version;
}

static const void *get_export_table(uint32_t id)
{
	static const struct {
		size_t struct_size;
		int (*module_table)(uint32_t, function ***, unsigned *);
	} callbacks = { sizeof callbacks, module_table };
	static const struct {
		size_t struct_size;
		uint32_t version, reserved;
		void (*set_injection_version)(uint32_t);
	} version = { sizeof version, NVTX_VERSION, 0, ignore_version };

	if (id == EXPORT_CALLBACKS)
		return &callbacks;
	return id == EXPORT_VERSION ? &version : NULL;
}

static const char *const domain_names[ETL_N_DOMAINS] = {
	[ETL_PYTORCH_OPERATOR] = "pytorch.operator",
	[ETL_PYTORCH_BACKWARD] = "pytorch.backward",
	[ETL_PYTORCH_ANNOTATION] = "pytorch.annotation",
	[ETL_PYTORCH_MODULE] = "pytorch.module",
};
static void *domains[ETL_N_DOMAINS];
static bool is_open;

static void open_once(void)
{
	const void *(*get)(uint32_t) = get_export_table;
	void *address;

	memcpy(&address, &get, sizeof address);
	if (!etl_injector.cupti.nvtx_initialize2 ||
	    etl_injector.cupti.nvtx_initialize2(address) != CUPTI_OK || !core2[DOMAIN_PUSH] ||
	    !core2[DOMAIN_POP] || !core2[DOMAIN_CREATE])
		return;
	for (int i = 0; i < ETL_N_DOMAINS; i++)
		domains[i] = ((void *(*)(const char *))core2[DOMAIN_CREATE])(domain_names[i]);
	is_open = true;
}

bool etl_nvtx_client_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_once);
	return is_open;
}

/* ---- texts that NVTX has been told: CUPTI copies others each time */

#define TEXTS (1u << 14)
#define NEAR 8u
static struct {
	_Atomic uint64_t key; /* 0: empty */
	_Atomic(const void *) handle; /* NULL: being registered */
} texts[TEXTS];

/* NULL: there is none yet, or no room. */
static const void *registered(enum etl_domain domain, const char *text, size_t length)
{
	uint64_t key = etl_hash(text, length) + domain;

	for (uint64_t i = key; core2[REGISTER_STRING] && i < key + NEAR; i++) {
		_Atomic uint64_t *at = &texts[i % TEXTS].key;
		/* Acquire: what the handle points to was written before it. */
		const void *handle = etl_load(&texts[i % TEXTS].handle);

		if (etl_peek(at) == key)
			return handle;
		if (etl_peek(at) == 0 && key && etl_claim(at, 0, key)) {
			handle = ((const void *(*)(void *, const char *))core2[REGISTER_STRING])(
				domains[domain], text);
			etl_store(&texts[i % TEXTS].handle, handle);
			return handle;
		}
	}
	return NULL;
}

void etl_nvtx_client_push(enum etl_domain domain, const char *text, size_t length, int64_t payload)
{
	const void *handle = registered(domain, text, length);
	struct attributes attributes = {
		.version = NVTX_VERSION,
		.size = sizeof attributes,
		.payload_type = PAYLOAD_INT64,
		.payload = payload,
		.message_type = handle ? REGISTERED : ASCII,
		.message = handle ? handle : text,
	};

	(void)((int (*)(void *, const struct attributes *))core2[DOMAIN_PUSH])(domains[domain],
									      &attributes);
}

void etl_nvtx_client_pop(enum etl_domain domain)
{
	(void)((int (*)(void *))core2[DOMAIN_POP])(domains[domain]);
}

#include <string.h>

#include "etl/libcupti.h"
#include "etl/rows.h"
#include "inject/facts.h"
#include "inject/injector.h"
#include "inject/row_slot.h"
#include "inject/told.h"

/* ---- what is known of one device or context */

#define MOST_ROWS 64
#define MOST_FACTS 32
#define MOST_TEXT 128

struct row {
	struct etl_fact_row head;
	int64_t id; /* in its first column, by which CUPTI's rows are known */
	struct {
		struct etl_fact fact;
		char text[MOST_TEXT];
	} facts[MOST_FACTS];
};

static struct row rows[MOST_ROWS];
static unsigned n_rows;
static struct etl_row_slot facts = ETL_ROW_SLOT_OF_MIXED(ETL_FACTS);

static struct row *new_row(uint32_t table, int64_t id)
{
	struct row *row;

	if (n_rows >= MOST_ROWS)
		return NULL;
	row = &rows[n_rows++];
	row->head = (struct etl_fact_row){ .table = table };
	row->id = id;
	return row;
}

static void add_fact(struct row *row, const char *column, int64_t value, const char *text)
{
	const struct etl_kind *kind = &etl_kinds[row->head.table];
	struct etl_fact *fact = &row->facts[row->head.n].fact;

	for (uint32_t c = 0; row->head.n < MOST_FACTS && c < kind->n_columns; c++) {
		if (strcmp(kind->columns[c].name, column) != 0)
			continue;
		*fact = (struct etl_fact){ c, text ? (uint32_t)strnlen(text, MOST_TEXT) : 0, value };
		if (text)
			memcpy(row->facts[row->head.n].text, text, fact->text_bytes);
		row->head.n++;
	}
}

/* ---- the driver; types and numbers are those of the public cuda.h */

static struct driver {
	int (*count)(int *);
	int (*device)(int *, int);
	int (*name)(char *, int, int);
	int (*uuid)(unsigned char *, int);
	int (*attribute)(int *, int, int);
	int (*memory)(size_t *, int);
	int (*primary)(int, unsigned *, int *);
	int (*retain)(void **, int);
	int (*release)(int);
} driver;

enum { THREADS_PER_WARP = 10, MEMORY_CLOCK_KHZ = 36, MEMORY_BUS_BITS = 37,
       THREADS_PER_MULTIPROCESSOR = 39, MEMORY_TRANSFERS_A_CLOCK = 2 };

static const struct {
	const char *column;
	int attribute; /* CUdevice_attribute */
} attributes[] = {
	{ "max_threads_per_block", 1 },
	{ "max_shared_per_block_bytes", 8 },
	{ "constant_memory_bytes", 9 },
	{ "threads_per_warp", THREADS_PER_WARP },
	{ "max_registers_per_block", 12 },
	{ "core_clock_khz", 13 },
	{ "multiprocessors", 16 },
	{ "ecc_enabled", 32 },
	{ "l2_cache_bytes", 38 },
	{ "memcpy_engines", 40 },
	{ "compute_capability_major", 75 },
	{ "compute_capability_minor", 76 },
	{ "max_shared_per_multiprocessor_bytes", 81 },
	{ "max_registers_per_multiprocessor", 82 },
	{ "max_blocks_per_multiprocessor", 106 },
};

/* Whether the program has loaded it, and it has all that is asked here. */
static bool find_driver(void)
{
	static const struct etl_symbol symbols[] = {
		ETL_REQUIRED(driver, count, "cuDeviceGetCount"),
		ETL_REQUIRED(driver, device, "cuDeviceGet"),
		ETL_REQUIRED(driver, name, "cuDeviceGetName"),
		ETL_REQUIRED(driver, uuid, "cuDeviceGetUuid_v2"),
		ETL_REQUIRED(driver, attribute, "cuDeviceGetAttribute"),
		ETL_REQUIRED(driver, memory, "cuDeviceTotalMem_v2"),
		ETL_REQUIRED(driver, primary, "cuDevicePrimaryCtxGetState"),
		ETL_REQUIRED(driver, retain, "cuDevicePrimaryCtxRetain"),
		ETL_REQUIRED(driver, release, "cuDevicePrimaryCtxRelease_v2"),
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	bool has_all = library && !etl_resolve(library, symbols, sizeof symbols / sizeof *symbols,
					       &driver);

	if (library)
		dlclose(library); /* the program has it */
	return has_all;
}

static void add_uuid(struct row *row, int device)
{
	unsigned char u[16];
	char text[48];

	if (driver.uuid(u, device) != 0)
		return;
	snprintf(text, sizeof text,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
		 u[14], u[15]);
	add_fact(row, "device_uuid", 0, text);
}

static void gather_device(int ordinal, int device)
{
	struct row *row = new_row(ETL_TABLE_DEVICE, ordinal);
	char name[MOST_TEXT] = "";
	int value, other;
	size_t memory;

	if (!row)
		return;
	add_fact(row, "device_id", ordinal, NULL);
	add_uuid(row, device);
	if (driver.name(name, sizeof name - 1, device) == 0)
		add_fact(row, "name", 0, name);
	if (driver.memory(&memory, device) == 0)
		add_fact(row, "global_memory_bytes", (int64_t)memory, NULL);
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (driver.attribute(&value, attributes[i].attribute, device) == 0)
			add_fact(row, attributes[i].column, value, NULL);
	if (driver.attribute(&value, THREADS_PER_MULTIPROCESSOR, device) == 0 &&
	    driver.attribute(&other, THREADS_PER_WARP, device) == 0 && other > 0)
		add_fact(row, "max_warps_per_multiprocessor", value / other, NULL);
	if (driver.attribute(&value, MEMORY_CLOCK_KHZ, device) == 0 && value > 0 &&
	    driver.attribute(&other, MEMORY_BUS_BITS, device) == 0)
		add_fact(row, "global_memory_bandwidth_kbps",
			 (int64_t)value * MEMORY_TRANSFERS_A_CLOCK * other / 8, NULL);
	/* The driver counts no others. */
	add_fact(row, "is_cuda_visible", 1, NULL);
}

/* Of contexts that the program made itself the driver gives no list. */
static void gather_primary_context(int ordinal, int device)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	uint32_t id, stream;
	unsigned flags;
	int is_active = 0;
	void *context;
	struct row *row;

	if (!cupti->get_context_id || driver.primary(device, &flags, &is_active) != 0 ||
	    !is_active || driver.retain(&context, device) != 0)
		return;
	if (cupti->get_context_id(context, &id) == CUPTI_OK) {
		row = new_row(ETL_TABLE_CONTEXT, id);
		if (row) {
			add_fact(row, "context_id", id, NULL);
			add_fact(row, "device_id", ordinal, NULL);
			add_fact(row, "compute_api", 0, "cuda");
			add_fact(row, "is_green_context", 0, NULL);
			if (cupti->get_stream_id &&
			    cupti->get_stream_id(context, NULL, 0, &stream) == CUPTI_OK)
				add_fact(row, "null_stream_id", stream, NULL);
		}
	}
	driver.release(device);
}

void etl_facts_gather(void)
{
	int count = 0, device;

	/* This also tells whether it is initialised. */
	if (!find_driver() || driver.count(&count) != 0)
		return;
	for (int ordinal = 0; ordinal < count; ordinal++) {
		if (driver.device(&device, ordinal) != 0)
			continue;
		gather_device(ordinal, device);
		gather_primary_context(ordinal, device);
	}
}

void etl_facts_forget(void)
{
	n_rows = 0;
	etl_told_forget();
	etl_row_slot_forget(&facts);
}

/* ---- what CUPTI tells */

static void write_row(const struct row *row)
{
	struct iovec parts[1 + 2 * MOST_FACTS] = {
		{ (void *)(uintptr_t)&row->head, sizeof row->head },
	};
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	int n = 1;

	for (uint32_t i = 0; i < row->head.n; i++) {
		const struct etl_fact *fact = &row->facts[i].fact;

		parts[n++] = (struct iovec){ (void *)(uintptr_t)fact, sizeof *fact };
		/* Zeros pad it. */
		parts[n++] = (struct iovec){ (void *)(uintptr_t)row->facts[i].text,
					     etl_padded(fact->text_bytes) };
	}
	etl_add(&counters->handed_over, 1);
	if (!etl_row_slot_write(&facts, parts, n))
		etl_add(&counters->ring_full[etl_kinds[row->head.table].activities[0]], 1);
}

void etl_facts_say(bool is_over)
{
	/* What CUPTI tells of, it tells before any work. */
	if (!n_rows || (!is_over && !etl_peek(&etl_injector.map.segment->last_return_ns)))
		return;
	for (unsigned i = 0; i < n_rows; i++)
		if (!etl_is_told(rows[i].head.table, rows[i].id))
			write_row(&rows[i]);
	n_rows = 0;
	etl_row_slot_flush(&facts);
}

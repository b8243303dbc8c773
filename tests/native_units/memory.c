/* No memory, at each place where the collector asks for some: it says so, reads nothing that
 * is gone, leaks nothing, and goes on when there is memory again. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "decode/process.h"
#include "etl/hash.h"

#define KERNELS 200
#define STRIDE 216

/* The linker gives us these calls (--wrap). */
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_pool_get(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_pool_get(size_t size);

static uint64_t asked, refused_at; /* the number of the call that fails; 0: none */

static bool is_refused(void)
{
	return ++asked == refused_at;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return is_refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return is_refused() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return is_refused() ? NULL : __real_aligned_alloc(alignment, size);
}

/* The pool asks nobody for what it has kept, which would hide the places where it does. */
void *__wrap_pool_get(size_t size)
{
	return is_refused() ? NULL : __real_pool_get(size);
}

/* Strings and records of two tables, in memory that is gone after each slot. */
static int decode_slots(struct etl_process *process, uint32_t first)
{
	struct etl_error error = { "" };
	char name[32];
	uint8_t *names = malloc(KERNELS * 64), *records = malloc(KERNELS * STRIDE);
	uint32_t bytes = 0, kernel = 10, copy = 1;
	int result;

	memset(records, 0, KERNELS * STRIDE);
	for (uint32_t i = 0; i < KERNELS; i++) {
		struct etl_string_entry entry = { .length = 8 };

		snprintf(name, sizeof name, "k%07u", first + i);
		entry.id = etl_hash(name, entry.length);
		memcpy(names + bytes, &entry, sizeof entry);
		memcpy(names + bytes + sizeof entry, name, entry.length);
		bytes += (uint32_t)(sizeof entry + entry.length);
		memcpy(records + i * STRIDE, i % 3 ? &kernel : &copy, sizeof kernel);
		memcpy(records + i * STRIDE + 104, &entry.id, sizeof entry.id);
	}
	result = etl_process_decode(process, names, bytes, ETL_STRINGS, &error);
	if (result == 0)
		result = etl_process_decode(process, records, KERNELS * STRIDE, ETL_RECORDS, &error);
	CHECK(result == 0 || (result == -ENOMEM && strstr(error.message, "no memory")));
	free(names);
	free(records);
	return result;
}

/* Rows without a name; all kernels here have one. */
static int64_t nameless(const struct ArrowArray *array, int table)
{
	for (uint32_t i = 0; i < etl_kinds[table].n_columns; i++)
		if (strcmp(etl_kinds[table].columns[i].name, "name") == 0)
			return array->children[i]->null_count;
	return 0;
}

static int take(struct etl_decoder *decoder, int kind, int64_t *rows, int64_t *lacking)
{
	int table = etl_table_of_kind(kind), result;
	struct ArrowArray array;

	result = etl_decoder_take(decoder, table, &array);
	if (result == 0) {
		*rows += array.length;
		*lacking += kind == 10 ? nameless(&array, table) : 0;
#ifndef PLANT_LEAK
		array.release(&array);
#endif
	}
	CHECK(result == 0 || result == -ENOMEM);
	return result;
}

/* One life of a collector, in which one call fails.  False if there were not so many. */
static bool live(uint64_t refused)
{
	static const uint64_t no_loss[ETL_MAX_KIND];
	struct etl_process_info info = { .process_id = 5, .cupti_version = 130500 };
	uint32_t strides[ETL_MAX_KIND] = { [10] = STRIDE, [1] = STRIDE };
	struct etl_error error = { "" };
	struct etl_process *process;
	struct etl_decoder *decoder;
	bool has_failed = false;
	int64_t rows = 0, lacking = 0;

	asked = 0;
	refused_at = refused;
	decoder = etl_decoder_new();
	if (!decoder) {
		CHECK(refused == 1);
		return true;
	}
	process = etl_process_load(decoder, &info, strides, no_loss, &error);
	if (!process) {
		CHECK(strstr(error.message, "no memory"));
		etl_decoder_free(decoder);
		return true;
	}
	for (uint32_t slot = 0; slot < 4; slot++)
		has_failed |= decode_slots(process, slot * KERNELS) < 0;
	has_failed |= take(decoder, 10, &rows, &lacking) < 0;
	has_failed |= take(decoder, 1, &rows, &lacking) < 0;
	/* Rows and names are lost by a failure that was said alone. */
	CHECK(has_failed || (rows == 4 * KERNELS && lacking == 0));
	rows = 0;
	refused_at = 0;
	CHECK(decode_slots(process, 0) == 0);
	CHECK(take(decoder, 10, &rows, &lacking) == 0 && take(decoder, 1, &rows, &lacking) == 0);
	CHECK(rows >= KERNELS);
	etl_process_free(process);
	etl_decoder_free(decoder);
	return asked >= refused;
}

int main(void)
{
	uint64_t refused = 1;

	while (live(refused))
		refused++;
	CHECK(refused > 30);
	return 0;
}

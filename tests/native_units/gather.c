/* The functions for processors with AVX2 against those for any: the same values, the same
 * validity, the same last correlation id; on records of every kind, and on ids that wrap. */
#include <string.h>

#include "check.h"
#include "decode/gather.h"
#include "decode/wide.h"

#define STRIDE 512

static uint64_t seed = 1;

static void compare(struct etl_process *process, const struct etl_column *column, uint8_t width,
		    const uint8_t *records, unsigned n, uint64_t last)
{
	_Alignas(64) uint32_t at[BLOCK];
	_Alignas(64) int64_t narrow[BLOCK], wide[BLOCK];
	struct gather g = { .process = process, .column = column, .base = records, .at = at,
			    .n = n, .offset = column->offset };
	gather_fn *fast = wide_for(column, width);
	size_t bytes = n * column_value_bytes(column);
	uint64_t valid, last_narrow;

	if (!fast)
		return;
	for (unsigned i = 0; i < BLOCK; i++)
		at[i] = (i < n ? i : n - 1) * STRIDE;
	process->last_correlation = last;
	valid = narrow_for(column, width)(&g, narrow);
	last_narrow = process->last_correlation;
	process->last_correlation = last;
	CHECK(valid == fast(&g, wide));
	CHECK(memcmp(narrow, wide, bytes) == 0);
	CHECK(process->last_correlation == last_narrow);
}

/* Ids about a point of the 64-bit count, some of them unknown. */
static void put_ids(uint8_t *records, uint16_t offset, uint64_t about, unsigned zeros)
{
	for (unsigned i = 0; i < BLOCK; i++) {
		uint32_t id = (uint32_t)(about + random_next(&seed) % 5000);

		if (zeros && random_next(&seed) % zeros == 0)
			id = 0;
		memcpy(records + i * STRIDE + offset, &id, sizeof id);
	}
}

int main(void)
{
	struct etl_process *process = aligned_alloc(_Alignof(struct etl_process), sizeof *process);
	uint8_t *records = malloc(BLOCK * STRIDE);

	memset(process, 0, sizeof *process);
	for (int round = 0; round < 20; round++)
		for (int table = 0; table < ETL_N_KINDS; table++)
			for (uint32_t c = 0; c < etl_kinds[table].n_columns; c++) {
				const struct etl_column *column = &etl_kinds[table].columns[c];
				unsigned n = 1 + (unsigned)(random_next(&seed) % BLOCK);

				/* Few different bytes, so that some values are null. */
				for (size_t i = 0; i < BLOCK * STRIDE; i++)
					records[i] = random_next(&seed) % (1 + (unsigned)round % 5) ?
							     0 : (uint8_t)(random_next(&seed) & 1 ? 255 : 7);
				if (column->width && column->offset + column->width <= STRIDE)
					compare(process, column, column->width, records, n,
						random_next(&seed) >> 20);
				if (column->type != ETL_CORRELATION)
					continue;
				for (unsigned zeros = 0; zeros < 3; zeros++) {
					uint64_t about = (random_next(&seed) % 3 << 32) - 2500;

					put_ids(records, column->offset, about, zeros * 7);
					compare(process, column, 4, records, n, about);
				}
			}
	free(records);
	free(process);
	return 0;
}

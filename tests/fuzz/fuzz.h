/* What the fuzz targets share: reading choices out of the input, and checks of batches.
 *
 * A target is LLVMFuzzerTestOneInput() in a file of its own.  clang's libFuzzer drives it
 * (make fuzz), or driver.c does, which needs nothing but a compiler. */
#ifndef FUZZ_H
#define FUZZ_H

#include <string.h>

#include "../native_units/check.h"
#include "decode/process.h"
#include "etl/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken rule must look like a crash to libFuzzer. */
#undef CHECK
#define CHECK(condition)                                                                      \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
			abort();                                                              \
		}                                                                             \
	} while (0)

struct input {
	const uint8_t *at;
	size_t left;
};

/* Zeros behind the end. */
static inline uint64_t take_number(struct input *input, size_t width)
{
	uint64_t value = 0;
	size_t n = width < input->left ? width : input->left;

	if (n)
		memcpy(&value, input->at, n);
	input->at += n;
	input->left -= n;
	return value;
}

/* At most `most` bytes, in memory of exactly their length, so that a read behind them is
 * seen.  The caller frees it. */
static inline uint8_t *take_bytes(struct input *input, size_t most, uint32_t *size)
{
	size_t n = most < input->left ? most : input->left;
	uint8_t *copy = malloc(n ? n : 1);

	CHECK(copy);
	if (n)
		memcpy(copy, input->at, n);
	input->at += n;
	input->left -= n;
	*size = (uint32_t)n;
	return copy;
}

static inline void check_utf8(const char *text, size_t length)
{
	const uint8_t *p = (const uint8_t *)text;

	for (size_t i = 0; i < length;) {
		size_t more = p[i] < 0x80 ? 0 : p[i] < 0xE0 ? 1 : p[i] < 0xF0 ? 2 : 3;

		CHECK(p[i] < 0x80 || (p[i] >= 0xC2 && p[i] <= 0xF4));
		CHECK(i + more < length);
		for (size_t j = 1; j <= more; j++)
			CHECK((p[i + j] & 0xC0) == 0x80);
		i += more + 1;
	}
}

static inline void check_dictionary(const struct ArrowArray *column)
{
	const struct ArrowArray *dictionary = column->dictionary;
	const int32_t *entry = column->buffers[1], *offset = dictionary->buffers[1];
	const char *bytes = dictionary->buffers[2];

	CHECK(offset[0] == 0);
	for (int64_t i = 0; i < dictionary->length; i++) {
		CHECK(offset[i] <= offset[i + 1]);
		check_utf8(bytes + offset[i], (size_t)(offset[i + 1] - offset[i]));
	}
	for (int64_t i = 0; i < column->length; i++)
		CHECK(entry[i] == 0 || (entry[i] > 0 && entry[i] < dictionary->length));
}

/* Takes all batches; each must be what Arrow calls valid.  Returns the rows. */
static inline uint64_t take_batches(struct etl_decoder *decoder)
{
	uint64_t rows = 0;

	for (int table = 0; table < ETL_N_TABLES; table++) {
		struct ArrowArray batch;

		if (etl_decoder_rows(decoder, table) == 0)
			continue; /* an empty batch costs as much as a small one */
		CHECK(etl_decoder_take(decoder, table, &batch) == 0);
		rows += table < ETL_N_KINDS ? (uint64_t)batch.length : 0;
		CHECK(batch.n_children == (int64_t)etl_kinds[table].n_columns);
		for (int64_t i = 0; i < batch.n_children; i++) {
			const struct ArrowArray *column = batch.children[i];
			const uint8_t *valid = column->buffers[0];
			int64_t nulls = 0;

			CHECK(column->length == batch.length);
			for (int64_t row = 0; valid && row < column->length; row++)
				nulls += !(valid[row / 8] >> row % 8 & 1);
			CHECK(nulls == column->null_count);
			if (column->dictionary)
				check_dictionary(column);
		}
		batch.release(&batch);
	}
	return rows;
}

#endif

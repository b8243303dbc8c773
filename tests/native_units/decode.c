/* The decoder on good, bad and random bytes; the sanitizers watch the edges. */
#include <string.h>
#include <time.h>

#include "check.h"
#include "decode/process.h"
#include "etl/hash.h"

static struct etl_process *new_process(struct etl_decoder *decoder, const uint32_t *strides)
{
	static const uint64_t no_loss[ETL_MAX_KIND];
	struct etl_process_info info = { .process_id = 5, .cupti_version = 130500 };
	struct etl_error error;
	struct etl_process *process =
		etl_process_load(decoder, &info, strides, no_loss, &error);

	CHECK(process);
	return process;
}

static void take_all(struct etl_decoder *decoder)
{
	for (int table = 0; table < ETL_N_KINDS; table++) {
		struct ArrowArray array;
		int64_t rows = etl_decoder_rows(decoder, table);

		CHECK(etl_decoder_take(decoder, table, &array) == 0);
		CHECK(array.length == rows);
		CHECK(etl_decoder_rows(decoder, table) == 0);
		array.release(&array);
		CHECK(array.release == NULL);
	}
}

static size_t put_string(uint8_t *at, const char *text, size_t length, uint32_t tag)
{
	struct etl_string_entry entry = { etl_hash(text, length), tag, 0, length };

	memcpy(at, &entry, sizeof entry);
	memcpy(at + sizeof entry, text, length);
	return sizeof entry + ((length + 7) & ~(size_t)7);
}

static size_t put_forget(uint8_t *at)
{
	size_t bytes = put_string(at, "", 0, 0);
	uint32_t flags = ETL_STRINGS_FORGET;

	memcpy(at + offsetof(struct etl_string_entry, flags), &flags, sizeof flags);
	return bytes;
}

static void names_are_valid_utf8(void)
{
	static const struct {
		const char *bytes, *expected;
	} cases[] = {
		{ "plain", "plain" },
		{ "h\xC3\xA9", "h\xC3\xA9" },
		{ "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80" },
		{ "a\xFF" "b", "a\xEF\xBF\xBD" "b" },
		{ "\xC3", "\xEF\xBF\xBD" },
		{ "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" }, /* a surrogate */
		{ "\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD" }, /* overlong */
		{ "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
		{ "", "" },
	};
	struct dictionary texts = { 0 };
	struct text_table table = { 0 };

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *bytes = cases[i].bytes;
		uint64_t id = etl_hash(bytes, strlen(bytes));
		int32_t entry = dictionary_add(&texts, id, bytes, strlen(bytes));
		int32_t start = texts.offsets[entry], length = texts.offsets[entry + 1] - start;

		CHECK((size_t)length == strlen(cases[i].expected));
		CHECK(memcmp(texts.bytes + start, cases[i].expected, (size_t)length) == 0);
		CHECK(dictionary_add(&texts, id, bytes, strlen(bytes)) == entry);
		CHECK(text_add(&table, bytes, strlen(bytes)) == text_find(&table, id));
		CHECK(text_mark(&table, (uint32_t)i) && !text_mark(&table, (uint32_t)i));
		CHECK(text_find(&table, id) == i);
	}
	CHECK(text_find(&table, 12345) == NO_TEXT);
	text_free(&table);
	dictionary_free(&texts);
}

/* What a process publishes without end is taken up to a limit; rows that lack it are counted,
 * and those of another process lack nothing. */
static void texts_without_end(bool are_long)
{
	struct etl_decoder *decoder = etl_decoder_new();
	uint32_t strides[ETL_MAX_KIND] = { [10] = 216 }, kind = 10;
	struct etl_process *process = new_process(decoder, strides);
	struct etl_process *neighbour = new_process(decoder, strides);
	const uint32_t n = are_long ? 100 : MOST_TEXTS + 1000, kernels = 64;
	const size_t length = are_long ? ETL_LARGE_BYTES - 64 : 16;
	uint8_t *slot = malloc(2 * ETL_LARGE_BYTES), record[216] = { 0 };
	int table = etl_table_of_kind(10);
	struct etl_error error;
	char *name = malloc(length + 1);
	size_t bytes = 0;
	uint64_t id;

	memset(name, 'n', length + 1);
	memcpy(record, &kind, 4);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, 16, "%015u", i);
		bytes += put_string(slot + bytes, name, length, 0);
		if (bytes + sizeof(struct etl_string_entry) + length > ETL_LARGE_BYTES || i + 1 == n) {
			CHECK(etl_process_decode(process, slot, (uint32_t)bytes, ETL_STRINGS,
						 &error) == 0);
			bytes = 0;
		}
	}
	CHECK(process->texts.ids.n <= MOST_TEXTS && process->texts.bytes_used <= MOST_TEXT_BYTES);
	CHECK(process->decoded.cut_strings == n - process->texts.ids.n);
	CHECK(process->decoded.cut_strings > 0);
	/* The last one is missing. */
	id = etl_hash(name, length);
	memcpy(record + 104, &id, 8);
	for (uint32_t i = 0; i < kernels; i++)
		CHECK(etl_process_decode(process, record, 216, ETL_RECORDS, &error) == 0);
	CHECK(etl_process_cut(process, table) == kernels);
	CHECK(process->decoded.unresolved_strings == 0);
	/* Of a neighbour there is room for it, and so there is once the process forgets. */
	bytes = put_string(slot, name, length, 0);
	CHECK(etl_process_decode(neighbour, slot, (uint32_t)bytes, ETL_STRINGS, &error) == 0);
	CHECK(etl_process_decode(neighbour, record, 216, ETL_RECORDS, &error) == 0);
	CHECK(etl_process_cut(neighbour, table) == 0);
	CHECK(etl_process_names(neighbour) == 1 && etl_process_names(process) == 0);
	CHECK(etl_decoder_text_bytes(decoder, table) >= length);
	bytes = put_forget(slot);
	bytes += put_string(slot + bytes, name, length, 0);
	CHECK(etl_process_decode(process, slot, (uint32_t)bytes, ETL_STRINGS, &error) == 0);
	CHECK(process->texts.ids.n == 1);
	CHECK(etl_process_decode(process, record, 216, ETL_RECORDS, &error) == 0);
	CHECK(etl_process_cut(process, table) == kernels && etl_process_names(process) == 1);
	take_all(decoder);
	CHECK(etl_decoder_text_bytes(decoder, table) == 0);
	free(name);
	free(slot);
	etl_process_free(process);
	etl_process_free(neighbour);
	etl_decoder_free(decoder);
}

/* The last string of a slot, whose padding was cut off. */
static void strings_may_end_without_padding(void)
{
	uint32_t strides[ETL_MAX_KIND] = { 0 };
	struct etl_error error;

	for (size_t length = 0; length < 20; length++) {
		struct etl_decoder *decoder = etl_decoder_new();
		struct etl_process *process = new_process(decoder, strides);
		size_t bytes = sizeof(struct etl_string_entry) + length;
		uint8_t padded[64], *exact = malloc(bytes);

		put_string(padded, "abcdefghijklmnopqrst", length, 0);
		memcpy(exact, padded, bytes);
		CHECK(etl_process_decode(process, exact, (uint32_t)bytes, ETL_STRINGS, &error) == 0);
		CHECK(process->decoded.damaged_strings == 0);
		CHECK(text_find(&process->texts, etl_hash("abcdefghijklmnopqrst", length)) != NO_TEXT);
		free(exact);
		etl_process_free(process);
		etl_decoder_free(decoder);
	}
}

static void many_names(void)
{
	struct etl_decoder *decoder = etl_decoder_new();
	uint32_t strides[ETL_MAX_KIND] = { [10] = 216 };
	struct etl_process *process = new_process(decoder, strides);
	uint8_t *slot = calloc(1, ETL_LARGE_BYTES);
	struct etl_error error;
	char name[32];

	for (uint32_t i = 0; i < 5000; i++) {
		int length = snprintf(name, sizeof name, "kernel_%u", i);
		uint32_t kind = 10;
		uint64_t id = etl_hash(name, (size_t)length);
		size_t bytes = put_string(slot, name, (size_t)length, 0);

		CHECK(etl_process_decode(process, slot, (uint32_t)bytes, ETL_STRINGS, &error) == 0);
		memset(slot, 0, 216);
		memcpy(slot, &kind, 4);
		memcpy(slot + 104, &id, 8);
		CHECK(etl_process_decode(process, slot, 216, ETL_RECORDS, &error) == 0);
		if (i % 1000 == 999)
			take_all(decoder);
	}
	free(slot);
	etl_process_free(process);
	etl_decoder_free(decoder);
}

#ifndef NAMES
#define NAMES 1000000
#endif
/* A million different names: each batch holds only those that it uses, and looking one up
 * costs as much at the end as at the beginning (a search would take hours). */
static void a_million_names(void)
{
	enum { N = NAMES, A_BATCH = 50000 };
	struct etl_decoder *decoder = etl_decoder_new();
	uint32_t strides[ETL_MAX_KIND] = { [10] = 216 }, kind = 10;
	struct etl_process *process = new_process(decoder, strides);
	uint8_t *names = malloc(A_BATCH * 48), *kernels = calloc(A_BATCH, 216);
	struct etl_error error;
	char name[32];
	clock_t begin = clock();

	for (uint32_t first = 0; first < N; first += A_BATCH) {
		size_t bytes = 0;

		for (uint32_t i = 0; i < A_BATCH; i++) {
			int length = snprintf(name, sizeof name, "kernel_%u", first + i);
			uint64_t id = etl_hash(name, (size_t)length);

			bytes += put_string(names + bytes, name, (size_t)length, 0);
			memcpy(kernels + i * 216, &kind, 4);
			memcpy(kernels + i * 216 + 104, &id, 8);
		}
		CHECK(etl_process_decode(process, names, (uint32_t)bytes, ETL_STRINGS, &error) == 0);
		CHECK(etl_process_decode(process, kernels, A_BATCH * 216, ETL_RECORDS, &error) == 0);
		take_all(decoder);
	}
	CHECK(process->decoded.unresolved_strings == 0);
	CHECK(process->texts.ids.n >= N && process->texts.bytes_size < (size_t)N * 128);
	CHECK(process->texts.ids.n_slots < (size_t)N * 4);
	CHECK((clock() - begin) / CLOCKS_PER_SEC < 60);
	free(names);
	free(kernels);
	etl_process_free(process);
	etl_decoder_free(decoder);
}

/* Random bytes as records and as strings, of random lengths, with random strides. */
static void random_bytes(uint64_t seed)
{
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_error error;

	for (int round = 0; round < 60; round++) {
		uint32_t strides[ETL_MAX_KIND] = { 0 };
		struct etl_process *process;

		for (int kind = 1; kind < 64; kind++)
			strides[kind] = (uint32_t)(random_next(&seed) % 300);
		process = new_process(decoder, strides);
		for (int i = 0; i < 40; i++) {
			size_t length = random_next(&seed) % 4000;
			/* Exactly as long as it says, so that a read behind it is seen. */
			uint8_t *bytes = malloc(length ? length : 1);

			for (size_t j = 0; j < length; j++)
				bytes[j] = (uint8_t)(random_next(&seed) %
						     (random_next(&seed) & 1 ? 256 : 16));
			CHECK(etl_process_decode(process, bytes, (uint32_t)length,
						 (uint32_t)(random_next(&seed) % 4),
						 &error) == 0);
			free(bytes);
		}
		take_all(decoder);
		etl_process_free(process);
	}
	etl_decoder_free(decoder);
}

#ifdef PLANT_OVERFLOW
static void planted(void)
{
	volatile uint8_t *bytes = malloc(8);

	bytes[8] = 1;
	free((void *)bytes);
}
#endif

int main(void)
{
	names_are_valid_utf8();
	strings_may_end_without_padding();
	texts_without_end(false);
	texts_without_end(true);
	many_names();
	a_million_names();
	for (uint64_t seed = 1; seed <= 8; seed++)
		random_bytes(seed);
#ifdef PLANT_OVERFLOW
	planted();
#endif
	return 0;
}

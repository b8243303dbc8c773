/* Fuzz target: a slot of strings, code and stacks, then a slot of kernels that use them.
 *
 * The key of a string is a hash of it, which no fuzzer finds; so where the first byte says
 * so, the keys of entries that fit are made right, and stacks are of the code before them. */
#include "fuzz.h"
#include "etl/stacks.h"

#define STRIDE 248

static void correct_keys(uint8_t *slot, uint32_t bytes)
{
	uint64_t at = 0, code = 0;

	while (bytes - at >= sizeof(struct etl_string_entry)) {
		struct etl_string_entry entry;

		memcpy(&entry, slot + at, sizeof entry);
		if (entry.length > bytes - at - sizeof entry)
			break;
		for (uint64_t frame = 0; entry.flags & ETL_PYTHON_STACK &&
					 frame + sizeof(struct etl_python_frame) <= entry.length;
		     frame += sizeof(struct etl_python_frame))
			memcpy(slot + at + sizeof entry + frame, &code, sizeof code);
		entry.id = etl_hash(slot + at + sizeof entry, entry.length);
		if (entry.flags & ETL_PYTHON_CODE)
			code = entry.id;
		memcpy(slot + at, &entry, sizeof entry);
		at += sizeof entry + ((entry.length + 7) & ~UINT64_C(7));
		if (at > bytes)
			break;
	}
}

/* A kernel for each place where an entry may begin: eight bytes there are its name's key. */
static void decode_users(struct etl_process *process, const uint8_t *slot, uint32_t bytes)
{
	const struct etl_column *columns = etl_kinds[etl_table_of_kind(10)].columns;
	struct etl_error error;
	uint8_t record[STRIDE] = { 10 };
	uint32_t name_at = 0;

	for (uint32_t i = 0; i < etl_kinds[etl_table_of_kind(10)].n_columns; i++)
		if (columns[i].type == ETL_STRING)
			name_at = columns[i].offset;
	for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
		memcpy(record + name_at, slot + at, 8);
		CHECK(etl_process_decode(process, record, STRIDE, ETL_RECORDS, &error) == 0);
	}
}

/* Names of kernels are valid whatever they were made of, and come once. */
static void check_names(struct etl_process *process)
{
	int64_t names = etl_process_names(process);
	struct ArrowArray array;

	CHECK(etl_process_take_names(process, &array) == 0);
	CHECK(array.length == names && etl_process_names(process) == 0);
	array.release(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t no_loss[ETL_MAX_KIND];
	struct input input = { data, size };
	struct etl_process_info info = { .process_id = 5, .cupti_version = 130500 };
	uint32_t strides[ETL_MAX_KIND] = { [10] = STRIDE, [4] = 40, [5] = 40 }, bytes;
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_error error;
	struct etl_process *process =
		etl_process_load(decoder, &info, strides, no_loss, &error);
	bool is_corrected = take_number(&input, 1) & 1;
	uint8_t *slot = take_bytes(&input, 4096, &bytes);
	struct etl_decoded decoded;

	CHECK(decoder && process);
	if (is_corrected)
		correct_keys(slot, bytes);
#ifdef PLANT_BUG
	bytes += 1; /* believes a length that is not so */
#endif
	CHECK(etl_process_decode(process, slot, bytes, ETL_STRINGS, &error) == 0);
	etl_process_get_decoded(process, &decoded);
	CHECK(decoded.damaged_strings <= 1);
	decode_users(process, slot, bytes);
	CHECK(process->texts.ids.n <= MOST_TEXTS);
	check_names(process);
	take_batches(decoder);
	free(slot);
	etl_process_free(process);
	etl_decoder_free(decoder);
	return 0;
}

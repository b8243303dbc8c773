/* Fuzz target: slots of a recorded process, with record sizes and places of columns of any
 * kind.
 *
 *	sizes:  n 1, then (activity kind 1, size 2) * n
 *	places: is selected 1, n 1, then (table 1, column 1, offset 2, width 1, only at 2) * n
 *	slots:  (content 1, length 2, bytes) until the end
 */
#include "fuzz.h"

static void set_places(struct etl_process *process, struct input *input)
{
	for (uint64_t n = take_number(input, 1); n && input->left; n--) {
		uint32_t table = (uint32_t)take_number(input, 1) % ETL_N_KINDS;
		uint32_t column = (uint32_t)take_number(input, 1) % etl_kinds[table].n_columns;
		struct etl_place place = { (uint32_t)take_number(input, 2),
					   (uint32_t)take_number(input, 1),
					   (uint32_t)take_number(input, 2) };

		etl_process_set_place(process, (int)table, (int)column, &place);
	}
}

static void check_sums(struct etl_decoder *decoder, const struct etl_process *process,
		       uint64_t bytes)
{
	uint64_t calls = (uint64_t)etl_decoder_rows(decoder, ETL_TABLE_LAUNCH_STACK);
	uint64_t events = (uint64_t)etl_decoder_rows(decoder, ETL_TABLE_CALLBACK_EVENT);
	uint64_t nodes = (uint64_t)etl_decoder_rows(decoder, ETL_TABLE_GRAPH_NODE);
	uint64_t nccl_events = (uint64_t)etl_decoder_rows(decoder, ETL_TABLE_NCCL_EVENT);
	uint64_t pc_rows = (uint64_t)(etl_decoder_rows(decoder, ETL_TABLE_PC_SAMPLE) +
				      etl_decoder_rows(decoder, ETL_TABLE_PC_WINDOW) +
				      etl_decoder_rows(decoder, ETL_TABLE_CUBIN));
	uint64_t range_rows = (uint64_t)etl_decoder_rows(decoder, ETL_TABLE_LAUNCH_METRIC);
	uint64_t rows = take_batches(decoder), stored = 0, unknown = 0;
	struct etl_decoded decoded;

	etl_process_get_decoded(process, &decoded);
	for (int table = 0; table < ETL_N_KINDS; table++)
		stored += etl_process_stored(process, table);
	for (int kind = 0; kind < ETL_MAX_KIND; kind++)
		unknown += etl_process_unknown(process, kind);
	/* Whatever came: each record is a row or counted. */
	CHECK(rows == stored);
	CHECK(calls == decoded.stacks);
	CHECK(events == decoded.callbacks);
	CHECK(nodes == decoded.graph_nodes);
	CHECK(nccl_events == decoded.nccl_events);
	CHECK(pc_rows == decoded.pc_rows);
	CHECK(range_rows == decoded.range_rows);
	CHECK(stored + unknown == decoded.records);
	CHECK(decoded.unreadable_bytes <= bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t no_loss[ETL_MAX_KIND];
	struct input input = { data, size };
	struct etl_process_info info = { .process_id = 5, .cupti_version = 130500 };
	struct etl_decoder *decoder = etl_decoder_new();
	uint32_t strides[ETL_MAX_KIND] = { 0 };
	struct etl_error error;
	struct etl_process *process;
	uint64_t bytes = 0;

	for (uint64_t n = take_number(&input, 1); n && input.left; n--) {
		uint64_t kind = take_number(&input, 1) % ETL_MAX_KIND;

		strides[kind] = (uint32_t)take_number(&input, 2);
	}
	info.is_selected = (uint32_t)take_number(&input, 1) & 1;
	process = etl_process_load(decoder, &info, strides, no_loss, &error);
	CHECK(decoder && process);
	set_places(process, &input);
	while (input.left) {
		uint32_t content = (uint32_t)take_number(&input, 1), length;
		uint8_t *slot = take_bytes(&input, take_number(&input, 2), &length);

		bytes += length;
#ifdef PLANT_BUG
		length += 8; /* believes a length that is not so */
#endif
		CHECK(etl_process_decode(process, slot, length, content % 8, &error) == 0);
		free(slot);
	}
	check_sums(decoder, process, bytes);
	etl_process_free(process);
	etl_decoder_free(decoder);
	return 0;
}

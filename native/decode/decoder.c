/* The decoder and its tables. */
#include <stdlib.h>

#include "decode/process.h"

struct etl_decoder *etl_decoder_new(void)
{
	struct etl_decoder *decoder = calloc(1, sizeof *decoder);

	if (!decoder)
		return NULL;
	for (int table = 0; table < ETL_N_TABLES; table++)
		decoder->builders[table].kind = &etl_kinds[table];
	decoder->cubin_pieces.width = 2;
	return decoder;
}

void etl_decoder_free(struct etl_decoder *decoder)
{
	if (!decoder)
		return;
	for (int table = 0; table < ETL_N_TABLES; table++)
		builder_free(&decoder->builders[table]);
	ids_free(&decoder->cubin_pieces);
	free(decoder);
}

int etl_table_of_kind(int kind)
{
	/* Asked once a record, so answered from a table. */
	static int8_t table_of[ETL_MAX_KIND];
	static _Atomic bool made;

	if (!etl_load(&made)) {
		for (int i = 0; i < ETL_MAX_KIND; i++)
			table_of[i] = (int8_t)etl_table_of((uint32_t)i);
		etl_store(&made, true);
	}
	return kind >= 0 && kind < ETL_MAX_KIND ? table_of[kind] : -1;
}

uint64_t etl_fingerprint(void)
{
	return ETL_FINGERPRINT;
}

int64_t etl_decoder_rows(const struct etl_decoder *decoder, int table)
{
	return decoder->builders[table].rows;
}

int etl_decoder_take(struct etl_decoder *decoder, int table, struct ArrowArray *out)
{
	return builder_take(&decoder->builders[table], out);
}

uint64_t etl_decoder_text_bytes(const struct etl_decoder *decoder, int table)
{
	const struct builder *builder = &decoder->builders[table];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < builder->kind->n_columns; i++)
		bytes += builder->dictionaries[i].bytes_used;
	return bytes;
}

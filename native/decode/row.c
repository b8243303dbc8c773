#include <errno.h>
#include <string.h>

#include "decode/row.h"
#include "etl/hash.h"

int row_add(struct etl_process *process, int table, const struct value *values, uint64_t *count)
{
	struct builder *builder = &process->decoder->builders[table];

	if (builder_reserve(builder, 1) < 0)
		return -ENOMEM;
	for (uint32_t c = 0; c < builder->kind->n_columns; c++) {
		size_t each = column_value_bytes(&builder->kind->columns[c]);
		/* A bit is given with those of 64 rows. */
		uint64_t bits = values[c].number != 0;

		/* Little-endian: the lowest bytes of a number are the smaller one. */
		column_append(&builder->columns[c], each, builder->rows,
			      each ? (const void *)&values[c].number : &bits, values[c].is_known, 1);
	}
	builder->rows++;
	if (count)
		++*count;
	return 0;
}

struct value row_text(struct etl_process *process, int table, uint32_t column, const char *text,
		      size_t length)
{
	struct dictionary *dictionary = &process->decoder->builders[table].dictionaries[column];
	int32_t entry = dictionary_add(dictionary, etl_text_key(text, length), text, length);

	process->lacks_memory |= entry == DICTIONARY_NO_MEMORY;
	if (table < ETL_N_KINDS)
		process->cut[table] += entry == DICTIONARY_FULL;
	return (struct value){ entry, entry >= 0 };
}

struct value row_kernel(struct etl_process *process, int table, uint32_t column, const char *name,
			size_t length)
{
	process->lacks_memory |= dictionary_add(&process->names, etl_hash(name, length), name,
						length) == DICTIONARY_NO_MEMORY;
	return row_text(process, table, column, name, length);
}

struct value row_word(struct etl_process *process, int table, uint32_t column, const char *word)
{
	return row_text(process, table, column, word, strlen(word));
}

struct value row_bytes(struct etl_process *process, int table, uint32_t column, const void *bytes,
		       size_t length)
{
	struct dictionary *dictionary = &process->decoder->builders[table].dictionaries[column];
	int32_t entry = dictionary_add_bytes(dictionary, etl_text_key(bytes, length), bytes, length);

	process->lacks_memory |= entry == DICTIONARY_NO_MEMORY;
	return (struct value){ entry, entry >= 0 };
}

int decode_entries(struct etl_process *process, const uint8_t *data, uint32_t bytes, size_t size,
		   int (*add)(struct etl_process *process, const void *entry))
{
	uint64_t entry[64]; /* a copy: in a segment another program can change it meanwhile */
	uint32_t at = 0;

	for (; size <= sizeof entry && bytes - at >= size; at += (uint32_t)size) {
		memcpy(entry, data + at, size);
		if (add(process, entry) < 0)
			return -ENOMEM;
	}
	process->decoded.unreadable_bytes += bytes - at;
	return process->lacks_memory ? -ENOMEM : 0;
}

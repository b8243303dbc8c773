#include <string.h>

#include "etl/rows.h"
#include "inject/injector.h"
#include "inject/pc_rows.h"
#include "inject/row_slot.h"

static struct etl_row_slot slot = ETL_ROW_SLOT_OF_MIXED(ETL_PC_SAMPLES);

/* Counts rows, and whether they are lost. */
static bool write_parts(const struct iovec *parts, int n, uint32_t rows)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	bool is_written;

	etl_add(&counters->pc_rows, rows);
	is_written = etl_row_slot_write(&slot, parts, n);
	if (!is_written)
		etl_add(&counters->pc_rows_lost, rows);
	return is_written;
}

void etl_pc_rows_write(struct etl_pc_rows *rows)
{
	const struct iovec whole = { rows->bytes, rows->used };

	if (rows->rows && !write_parts(&whole, 1, rows->rows))
		rows->lost += rows->samples;
	rows->used = rows->rows = rows->n_known = 0;
	rows->samples = 0;
}

static uint32_t length_of(const char *text)
{
	return text ? (uint32_t)strnlen(text, ETL_MOST_PC_TEXT) : 0;
}

/* Where in the piece a text is, which is put there if it is new; there is room for it. */
static uint32_t text_at(struct etl_pc_rows *rows, const char *text)
{
	struct etl_pc_text entry = { .type = ETL_PC_TEXT, .length = length_of(text) };
	uint32_t at = rows->used;

	for (uint32_t i = rows->n_known; i-- > 0;)
		if (rows->known[i].text == text)
			return rows->known[i].at;
	entry.bytes = (uint32_t)sizeof entry + etl_padded(entry.length);
	memset(rows->bytes + at, 0, entry.bytes);
	memcpy(rows->bytes + at, &entry, sizeof entry);
	memcpy(rows->bytes + at + sizeof entry, text, entry.length);
	rows->used += entry.bytes;
	rows->known[rows->n_known].text = text;
	rows->known[rows->n_known++].at = at;
	return at;
}

/* Room for an entry with two texts. */
static void have_room(struct etl_pc_rows *rows, size_t entry, const char *one, const char *other)
{
	const size_t most = entry + 2 * sizeof(struct etl_pc_text) + etl_padded(length_of(one)) +
			    etl_padded(length_of(other));

	if (rows->used + most > sizeof rows->bytes ||
	    rows->n_known + 2 > sizeof rows->known / sizeof *rows->known)
		etl_pc_rows_write(rows);
}

/* Behind its texts, of which it says how far before it they begin; 0: there is none. */
static void put_entry(struct etl_pc_rows *rows, void *entry, uint32_t bytes, const char *one,
		      uint32_t *one_back, const char *other, uint32_t *other_back)
{
	uint32_t one_at, other_at;

	have_room(rows, bytes, one, other);
	one_at = one ? text_at(rows, one) : 0;
	other_at = other ? text_at(rows, other) : 0;
	*one_back = one ? rows->used - one_at : 0;
	*other_back = other ? rows->used - other_at : 0;
	memcpy(rows->bytes + rows->used, entry, bytes);
	rows->used += bytes;
	rows->rows++;
}

void etl_pc_rows_count(struct etl_pc_rows *rows, struct etl_sass_count count, const char *function,
		       const char *metric)
{
	count.bytes = sizeof count;
	count.type = ETL_SASS_COUNT;
	put_entry(rows, &count, sizeof count, function, &count.function, metric, &count.metric);
}

void etl_pc_rows_add(struct etl_pc_rows *rows, struct etl_pc_sample sample, const char *function,
		     const char *reason)
{
	sample.bytes = sizeof sample;
	sample.type = ETL_PC_SAMPLE;
	put_entry(rows, &sample, sizeof sample, function, &sample.function, reason, &sample.reason);
	rows->samples += sample.samples;
}

void etl_pc_rows_window(struct etl_pc_window window)
{
	const struct iovec whole = { &window, sizeof window };

	window.bytes = sizeof window;
	window.type = ETL_PC_WINDOW;
	(void)write_parts(&whole, 1, 1);
}

bool etl_pc_rows_cubin(struct etl_pc_cubin cubin, const uint8_t *bytes)
{
	static const uint8_t zeros[8];
	const uint32_t padded = etl_padded(cubin.length);
	const struct iovec parts[] = {
		{ &cubin, sizeof cubin },
		{ (void *)(uintptr_t)bytes, cubin.length },
		{ (void *)(uintptr_t)zeros, padded - cubin.length },
	};

	cubin.bytes = (uint32_t)sizeof cubin + padded;
	cubin.type = ETL_PC_CUBIN;
	return write_parts(parts, 3, 1);
}

void etl_pc_rows_flush(void)
{
	etl_row_slot_flush(&slot);
}

void etl_pc_rows_forget(void)
{
	etl_row_slot_forget(&slot);
}

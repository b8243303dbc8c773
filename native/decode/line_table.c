#include "decode/line_table.h"

enum { LONG = 14, NO_COLUMNS = 13, NO_LINE = 15, FIRST_ONE_LINE = 10, LAST_ONE_LINE = 12 };

struct reader {
	const uint8_t *at, *end;
};

/* Six bits a byte, the lowest first; bit 6 says that more follow. */
static uint32_t read_number(struct reader *in)
{
	uint32_t value = 0;

	for (unsigned shift = 0; in->at < in->end; shift += 6) {
		uint8_t byte = *in->at++;

		if (shift < 32)
			value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value;
}

/* The sign is the lowest bit. */
static int64_t read_signed(struct reader *in)
{
	uint32_t value = read_number(in);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* By how much the line of an entry differs from the one before. */
static int64_t read_delta(struct reader *in, unsigned code)
{
	if (code == LONG || code == NO_COLUMNS)
		return read_signed(in);
	return code >= FIRST_ONE_LINE && code <= LAST_ONE_LINE ? (int64_t)code - FIRST_ONE_LINE : 0;
}

int32_t line_at(const uint8_t *table, size_t bytes, int32_t first_line, uint32_t at)
{
	struct reader in = { table, table + bytes };
	int64_t line = first_line;
	uint64_t start = 0;

	while (in.at < in.end) {
		uint8_t head = *in.at++;
		unsigned code = head >> 3 & 15;
		uint64_t end = start + 2 * ((head & 7u) + 1);

		line += read_delta(&in, code);
		if (at >= start && at < end)
			return code == NO_LINE || line < 1 || line > INT32_MAX ? 0 : (int32_t)line;
		start = end;
		/* What is left of an entry: bytes without the highest bit. */
		while (in.at < in.end && !(*in.at & 128))
			in.at++;
	}
	return 0;
}

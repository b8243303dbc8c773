/* Rows of an Arrow batch as messages of Protocol Buffers, by steps that are the same for each row.
 *
 * Lengths are as short as they can be, so the same rows always make the same bytes.  Source of the
 * encoding: https://protobuf.dev/programming-guides/encoding/ */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "etl/exports.h"

#define MAX_COLUMNS 64
#define MAX_DEPTH 16
#define VARINT_BYTES 10
/* What a step writes at most, besides a text or a literal. */
#define STEP_BYTES (2 * VARINT_BYTES)

struct column {
	const uint8_t *valid; /* NULL: all are */
	const void *values;   /* of a text, its offsets */
	const uint8_t *text;
	int64_t offset;
};

struct etl_protobuf {
	struct etl_protobuf_step *steps;
	uint32_t *after; /* of a message, the step behind the one that closes it */
	uint32_t n;
	uint8_t *literals;
	uint8_t *bytes;
	size_t used, size;
};

/* The steps' messages nest, and their literals are there. */
static bool link_messages(struct etl_protobuf *encoder, uint32_t literal_bytes)
{
	uint32_t open[MAX_DEPTH], depth = 0;

	for (uint32_t i = 0; i < encoder->n; i++) {
		const struct etl_protobuf_step *step = &encoder->steps[i];

		if (step->kind == ETL_PB_OPEN) {
			if (depth == MAX_DEPTH)
				return false;
			open[depth++] = i;
		} else if (step->kind == ETL_PB_CLOSE) {
			if (!depth)
				return false;
			encoder->after[open[--depth]] = i + 1;
		} else if (step->kind == ETL_PB_LITERAL) {
			if ((uint64_t)step->literal + step->bytes > literal_bytes)
				return false;
		} else if (step->kind > ETL_PB_TEXT || step->column < 0) {
			return false;
		}
		if (step->column >= MAX_COLUMNS)
			return false;
	}
	return depth == 0;
}

struct etl_protobuf *etl_protobuf_new(const struct etl_protobuf_step *steps, uint32_t n,
				      const uint8_t *literals, uint32_t bytes)
{
	struct etl_protobuf *encoder = calloc(1, sizeof *encoder);

	if (!encoder)
		return NULL;
	encoder->n = n;
	encoder->steps = calloc(n + 1, sizeof *steps);
	encoder->after = calloc(n + 1, sizeof *encoder->after);
	encoder->literals = malloc(bytes + 1);
	if (!bytes)
		literals = (const uint8_t *)"";
	if (encoder->steps && encoder->after && encoder->literals) {
		memcpy(encoder->steps, steps, n * sizeof *steps);
		memcpy(encoder->literals, literals, bytes);
		if (link_messages(encoder, bytes))
			return encoder;
	}
	etl_protobuf_free(encoder);
	return NULL;
}

void etl_protobuf_free(struct etl_protobuf *encoder)
{
	if (!encoder)
		return;
	free(encoder->steps);
	free(encoder->after);
	free(encoder->literals);
	free(encoder->bytes);
	free(encoder);
}

static int make_room(struct etl_protobuf *encoder, size_t more)
{
	size_t wanted = encoder->size ? encoder->size : 1 << 16;
	uint8_t *larger;

	if (encoder->used + more <= encoder->size)
		return 0;
	while (wanted < encoder->used + more)
		wanted *= 2;
	larger = realloc(encoder->bytes, wanted);
	if (!larger)
		return -ENOMEM;
	encoder->bytes = larger;
	encoder->size = wanted;
	return 0;
}

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

static bool is_known(const struct column *column, int64_t row)
{
	int64_t at = column->offset + row;

	return !column->valid || column->valid[at >> 3] >> (at & 7) & 1;
}

static void close_message(struct etl_protobuf *encoder, size_t begin)
{
	uint8_t length[VARINT_BYTES];
	size_t n = put_varint(length, encoder->used - begin - 1);

	/* One byte is held for it, which is enough for most. */
	if (n > 1)
		memmove(encoder->bytes + begin + n, encoder->bytes + begin + 1,
			encoder->used - begin - 1);
	memcpy(encoder->bytes + begin, length, n);
	encoder->used += n - 1;
}

static int put_value(struct etl_protobuf *encoder, const struct etl_protobuf_step *step,
		     const struct column *column, int64_t row)
{
	int64_t at = column->offset + row;
	const void *from = (const int64_t *)column->values + at;
	uint64_t value = 0;
	size_t length = 0;

	if (step->kind == ETL_PB_TEXT) {
		const int32_t *offsets = (const int32_t *)column->values + at;

		from = column->text + offsets[0];
		length = (size_t)(offsets[1] - offsets[0]);
		value = length;
	} else {
		memcpy(&value, from, sizeof value);
		length = step->kind == ETL_PB_VARINT ? 0 : sizeof value;
	}
	if (make_room(encoder, STEP_BYTES + length))
		return -ENOMEM;
	encoder->used += put_varint(encoder->bytes + encoder->used, step->tag);
	if (step->kind == ETL_PB_VARINT || step->kind == ETL_PB_TEXT)
		encoder->used += put_varint(encoder->bytes + encoder->used, value);
	if (length)
		memcpy(encoder->bytes + encoder->used, from, length);
	encoder->used += length;
	return 0;
}

static int put_row(struct etl_protobuf *encoder, const struct column *columns, int64_t row)
{
	size_t begins[MAX_DEPTH];
	unsigned depth = 0;

	for (uint32_t i = 0; i < encoder->n;) {
		const struct etl_protobuf_step *step = &encoder->steps[i++];
		bool is_left_out = step->column >= 0 && !is_known(&columns[step->column], row);

		if (step->kind == ETL_PB_OPEN && is_left_out) {
			i = encoder->after[i - 1];
		} else if (step->kind == ETL_PB_OPEN) {
			if (make_room(encoder, STEP_BYTES))
				return -ENOMEM;
			encoder->used += put_varint(encoder->bytes + encoder->used, step->tag);
			begins[depth++] = encoder->used++;
		} else if (step->kind == ETL_PB_CLOSE) {
			if (make_room(encoder, VARINT_BYTES))
				return -ENOMEM;
			close_message(encoder, begins[--depth]);
		} else if (step->kind == ETL_PB_LITERAL) {
			if (make_room(encoder, step->bytes))
				return -ENOMEM;
			memcpy(encoder->bytes + encoder->used, encoder->literals + step->literal,
			       step->bytes);
			encoder->used += step->bytes;
		} else if (!is_left_out && put_value(encoder, step, &columns[step->column], row)) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int find_columns(const struct etl_protobuf *encoder, const struct ArrowArray *batch,
			struct column *columns)
{
	int64_t buffers[MAX_COLUMNS] = {0};

	for (uint32_t i = 0; i < encoder->n; i++) {
		const struct etl_protobuf_step *step = &encoder->steps[i];

		if (step->column >= batch->n_children)
			return -EINVAL;
		if (step->kind > ETL_PB_LITERAL)
			buffers[step->column] = step->kind == ETL_PB_TEXT ? 3 : 2;
	}
	for (int64_t c = 0; c < batch->n_children && c < MAX_COLUMNS; c++) {
		const struct ArrowArray *child = batch->children[c];

		if (buffers[c] && child->n_buffers != buffers[c])
			return -EINVAL;
		if (child->n_buffers < 2 || child->dictionary)
			return -EINVAL;
		columns[c] = (struct column){
			.valid = child->null_count ? child->buffers[0] : NULL,
			.values = child->buffers[1],
			.text = child->n_buffers > 2 ? child->buffers[2] : NULL,
			.offset = child->offset + batch->offset,
		};
	}
	return 0;
}

int64_t etl_protobuf_encode(struct etl_protobuf *encoder, struct ArrowArray *batch)
{
	struct column columns[MAX_COLUMNS] = {0};
	int result = find_columns(encoder, batch, columns);

	encoder->used = 0;
	for (int64_t row = 0; !result && row < batch->length; row++)
		result = put_row(encoder, columns, row);
	if (batch->release)
		batch->release(batch);
	return result ? result : (int64_t)encoder->used;
}

const uint8_t *etl_protobuf_bytes(const struct etl_protobuf *encoder)
{
	return encoder->bytes;
}

/* Rows as Protocol Buffers, and slices that cross, against answers found the slow way. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "etl/exports.h"

#define N(array) (sizeof(array) / sizeof *(array))
#define MOST 200

static uint64_t luck = 7;

/* ---- batches whose buffers are the caller's */

struct rows {
	struct ArrowArray batch, columns[3], *children[3];
	const void *buffers[3][3];
};

static void release(struct ArrowArray *batch)
{
	batch->release = NULL;
}

static struct ArrowArray *make(struct rows *rows, int64_t n, int64_t n_columns)
{
	memset(rows, 0, sizeof *rows);
	rows->batch = (struct ArrowArray){
		.length = n, .n_children = n_columns, .children = rows->children, .release = release};
	for (int64_t c = 0; c < n_columns; c++) {
		rows->children[c] = &rows->columns[c];
		rows->columns[c] = (struct ArrowArray){
			.length = n, .n_buffers = 2, .buffers = rows->buffers[c]};
	}
	return &rows->batch;
}

/* ---- messages */

static void test_lengths_of_every_size(void)
{
	/* A message of a constant and a text, in another. */
	const struct etl_protobuf_step steps[] = {
		{ETL_PB_OPEN, 1 << 3 | 2, -1, 0, 0},
		{ETL_PB_OPEN, 100 << 3 | 2, 0, 0, 0},
		{ETL_PB_LITERAL, 0, -1, 1, 2},
		{ETL_PB_TEXT, 2 << 3 | 2, 0, 0, 0},
		{ETL_PB_CLOSE, 0, -1, 0, 0},
		{ETL_PB_CLOSE, 0, -1, 0, 0},
	};
	const uint8_t literals[] = {0xFF, 0x08, 0x07};
	const int32_t sizes[] = {0, 1, 121, 122, 123, 124, 125, 126, 127, 128, 16383, 16384, 2100000};
	struct etl_protobuf *encoder = etl_protobuf_new(steps, N(steps), literals, sizeof literals);
	char *text = malloc(2200000);

	memset(text, 'x', 2200000);
	CHECK(encoder);
	for (size_t i = 0; i < N(sizes); i++) {
		/* Behind a row that is not asked for, and before one that is NULL. */
		const int32_t offsets[] = {0, 3, 3 + sizes[i], 3 + sizes[i]};
		const uint8_t valid = 3;
		struct rows rows;
		struct ArrowArray *batch = make(&rows, 2, 1);
		const uint8_t *at;
		int64_t bytes;
		uint64_t lengths[2];

		rows.columns[0].n_buffers = 3;
		rows.columns[0].offset = 1;
		rows.columns[0].null_count = 1;
		rows.buffers[0][0] = &valid;
		rows.buffers[0][1] = offsets;
		rows.buffers[0][2] = text;
		bytes = etl_protobuf_encode(encoder, batch);
		CHECK(bytes > 0 && !batch->release);
		at = etl_protobuf_bytes(encoder);
		for (int depth = 0; depth < 2; depth++) {
			at += depth ? 2 : 1;
			lengths[depth] = 0;
			for (int shift = 0;; shift += 7) {
				lengths[depth] |= (uint64_t)(*at & 0x7F) << shift;
				if (!(*at++ & 0x80))
					break;
			}
		}
		/* The second row's message is there, and is empty. */
		CHECK(at + lengths[1] + 2 == etl_protobuf_bytes(encoder) + bytes);
		CHECK(memcmp(at + lengths[1], "\x0A\x00", 2) == 0);
		CHECK(memcmp(at, "\x08\x07\x12", 3) == 0);
		CHECK(lengths[1] >= 4 + (uint64_t)sizes[i] && lengths[1] <= 7 + (uint64_t)sizes[i]);
		CHECK(lengths[0] > lengths[1]);
	}
	free(text);
	etl_protobuf_free(encoder);
}

static void test_what_is_refused(void)
{
	const struct etl_protobuf_step open = {ETL_PB_OPEN, 10, -1, 0, 0};
	const struct etl_protobuf_step close = {ETL_PB_CLOSE, 0, -1, 0, 0};
	const struct etl_protobuf_step far = {ETL_PB_LITERAL, 0, -1, 0xFFFFFFFF, 2};
	const struct etl_protobuf_step none = {ETL_PB_VARINT, 8, -1, 0, 0};
	const struct etl_protobuf_step many = {ETL_PB_VARINT, 8, 64, 0, 0};
	const struct etl_protobuf_step other = {99, 8, 0, 0, 0};
	const struct etl_protobuf_step text = {ETL_PB_TEXT, 10, 1, 0, 0};
	struct etl_protobuf_step deep[17];
	struct etl_protobuf *encoder = etl_protobuf_new(&text, 1, NULL, 0);
	struct rows rows;

	for (size_t i = 0; i < N(deep); i++)
		deep[i] = open;
	CHECK(!etl_protobuf_new(&open, 1, NULL, 0) && !etl_protobuf_new(&close, 1, NULL, 0));
	CHECK(!etl_protobuf_new(&far, 1, (const uint8_t *)"xx", 2));
	CHECK(!etl_protobuf_new(&none, 1, NULL, 0) && !etl_protobuf_new(&many, 1, NULL, 0));
	CHECK(!etl_protobuf_new(&other, 1, NULL, 0) && !etl_protobuf_new(deep, N(deep), NULL, 0));
	/* No such column; no text. */
	CHECK(etl_protobuf_encode(encoder, make(&rows, 1, 1)) == -EINVAL && !rows.batch.release);
	CHECK(etl_protobuf_encode(encoder, make(&rows, 1, 2)) == -EINVAL && !rows.batch.release);
	etl_protobuf_free(encoder);
	etl_protobuf_free(NULL);
}

/* ---- slices */

struct slice {
	int64_t track, start, end;
};

static int in_order(const void *one, const void *two)
{
	const struct slice *a = one, *b = two;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end == b->end ? 0 : a->end > b->end ? -1 : 1;
}

static void test_what_nests_nests(void)
{
	struct slice all[MOST];
	int64_t columns[3][MOST], crossing[MOST], numbered = 0;
	struct etl_slices *slices = etl_slices_new();
	struct rows rows;

	CHECK(slices);
	for (size_t i = 0; i < MOST; i++) {
		int64_t start = (int64_t)(random_next(&luck) % 50);

		all[i] = (struct slice){(int64_t)(random_next(&luck) % 3), start,
					start + (int64_t)(random_next(&luck) % 12)};
	}
	qsort(all, MOST, sizeof *all, in_order);
	for (size_t i = 0; i < MOST; i++) {
		columns[0][i] = all[i].track;
		columns[1][i] = all[i].start;
		columns[2][i] = all[i].end;
	}
	/* In two batches. */
	for (int64_t from = 0; from < MOST; from += MOST / 2) {
		struct ArrowArray *batch = make(&rows, MOST / 2, 3);

		for (int c = 0; c < 3; c++) {
			rows.buffers[c][1] = columns[c];
			rows.columns[c].offset = from;
		}
		CHECK(etl_slices_add(slices, batch, crossing + from) == 0 && !batch->release);
	}
	for (size_t i = 0; i < MOST; i++) {
		bool crosses = false;

		for (size_t k = 0; k < i; k++)
			crosses |= !crossing[k] && all[k].track == all[i].track &&
				   all[k].end > all[i].start && all[k].end < all[i].end;
		CHECK((crossing[i] != 0) == crosses);
		CHECK(!crossing[i] || crossing[i] == ++numbered);
	}
	CHECK(numbered > 10 && numbered < MOST - 10);
	CHECK(etl_slices_add(slices, make(&rows, 1, 2), crossing) == -EINVAL);
	etl_slices_free(slices);
	etl_slices_free(NULL);
}

int main(void)
{
	test_lengths_of_every_size();
	test_what_is_refused();
	test_what_nests_nests();
	return 0;
}

/* Batches are released by another thread than the one that decodes, as the writer does. */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "decode/process.h"
#include "etl/hash.h"

#define BATCHES 200
#define DEPTH 8

static struct ArrowArray batches[DEPTH];
static int64_t rows[DEPTH];
static _Atomic uint64_t made, gone;

/* The sum of a batch's first child, so that its memory is read after the hand-over. */
static int64_t sum(const struct ArrowArray *array, int child)
{
	const int64_t *values = array->children[child]->buffers[1];
	int64_t total = 0;

	for (int64_t i = 0; i < array->length; i++)
		total += values[i];
	return total;
}

static void *release(void *argument)
{
	(void)argument;
	for (uint64_t i = 0; i < BATCHES; i++) {
		struct ArrowArray *array = &batches[i % DEPTH];

		while (etl_load(&made) <= i)
			;
		CHECK(array->length == rows[i % DEPTH]);
		CHECK(sum(array, 0) == array->length * 5);
		array->release(array);
		etl_store(&gone, i + 1);
	}
	return NULL;
}

int main(void)
{
	static const uint64_t no_loss[ETL_MAX_KIND];
	struct etl_process_info info = { .process_id = 5, .cupti_version = 130500 };
	uint32_t strides[ETL_MAX_KIND] = { [10] = 216 }, kind = 10;
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_error error;
	struct etl_process *process = etl_process_load(decoder, &info, strides, no_loss, &error);
	int table = etl_table_of_kind(10);
	uint8_t *slot = calloc(100, 216);
	uint64_t seed = 3;
	pthread_t thread;

	CHECK(process && table >= 0);
	for (int i = 0; i < 100; i++)
		memcpy(slot + i * 216, &kind, 4);
	CHECK(pthread_create(&thread, NULL, release, NULL) == 0);
	for (uint64_t i = 0; i < BATCHES; i++) {
		uint32_t count = (uint32_t)(random_next(&seed) % 100);

		while (i >= etl_load(&gone) + DEPTH)
			;
		CHECK(etl_process_decode(process, slot, count * 216, ETL_RECORDS, &error) == 0);
		CHECK(etl_decoder_take(decoder, table, &batches[i % DEPTH]) == 0);
		rows[i % DEPTH] = count;
		etl_store(&made, i + 1);
	}
	pthread_join(thread, NULL);
	free(slot);
	etl_process_free(process);
	etl_decoder_free(decoder);
	return 0;
}

#include <string.h>

#include "etl/rows.h"
#include "inject/injector.h"
#include "inject/range_rows.h"
#include "inject/row_slot.h"

static struct etl_row_slot slot = ETL_ROW_SLOT_OF_MIXED(ETL_RANGE_METRICS);
/* One piece at a time: a small slot holds the largest. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(8) uint8_t piece[sizeof(struct etl_range_measured) + ETL_MOST_RANGE_KERNEL +
				 ETL_MOST_RANGE_METRICS * (sizeof(struct etl_range_value) +
							   ETL_MOST_RANGE_METRIC + ETL_MOST_RANGE_UNIT)];
_Static_assert(sizeof piece <= ETL_SMALL_BYTES, "a piece fits a small slot");

/* Behind `at`, padded with zeros; where the next begins. */
static uint32_t put(uint32_t at, const void *bytes, uint32_t length)
{
	memset(piece + at, 0, etl_padded(length));
	memcpy(piece + at, bytes, length);
	return at + etl_padded(length);
}

static uint32_t put_value(uint32_t at, const struct etl_range_metric *metric, double value,
			  int32_t result)
{
	char texts[ETL_MOST_RANGE_METRIC + ETL_MOST_RANGE_UNIT];
	struct etl_range_value head = {
		.parts = metric->parts,
		.value = result == 0 ? value : 0,
		.result = result,
		.name_length = (uint32_t)strnlen(metric->name, sizeof metric->name),
		.unit_length = (uint32_t)strnlen(metric->unit, sizeof metric->unit),
	};
	const uint32_t length = head.name_length + head.unit_length;

	memcpy(texts, metric->name, head.name_length);
	memcpy(texts + head.name_length, metric->unit, head.unit_length);
	head.bytes = (uint32_t)sizeof head + etl_padded(length);
	return put(put(at, &head, sizeof head), texts, length);
}

void etl_range_rows_add(struct etl_range_measured measured, const char *kernel,
			const struct etl_range_metric *metrics, const double *values,
			const int32_t *results)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	struct iovec whole = { piece, 0 };
	uint32_t at = sizeof measured;

	pthread_mutex_lock(&lock);
	measured.name_length =
		kernel ? (uint32_t)strnlen(kernel, ETL_MOST_RANGE_KERNEL) : 0;
	at = put(at, kernel ? kernel : "", measured.name_length);
	for (uint32_t i = 0; i < measured.values; i++)
		at = put_value(at, &metrics[i], values[i], results[i]);
	measured.bytes = at;
	(void)put(0, &measured, sizeof measured);
	whole.iov_len = at;
	etl_add(&counters->range_rows, measured.values);
	if (!etl_row_slot_write(&slot, &whole, 1))
		etl_add(&counters->range_rows_lost, measured.values);
	pthread_mutex_unlock(&lock);
}

void etl_range_rows_flush(void)
{
	etl_row_slot_flush(&slot);
}

void etl_range_rows_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	etl_row_slot_forget(&slot);
}

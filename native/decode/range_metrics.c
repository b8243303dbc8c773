#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "decode/gather.h"
#include "decode/range_metrics.h"
#include "decode/row.h"
#include "etl/range_metrics.h"
#include "etl/rows.h"

enum { PROCESS, RANGE, START, END, DEVICE, CONTEXT, CORRELATION, FUNCTION, NAME, PASSES,
       CACHE, METRIC, VALUE, UNIT, ONE_PASS, MISSING, SOURCE, LAUNCHES, HASH, COLUMNS };
_Static_assert(sizeof launch_metric_columns / sizeof *launch_metric_columns == COLUMNS,
	       "the columns of launch_metric");

enum { INVALID_METRIC_NAME = 17 }; /* CUPTI's */

static struct value text(struct etl_process *process, uint32_t column, const char *bytes, size_t length)
{
	return row_text(process, ETL_TABLE_LAUNCH_METRIC, column, bytes, length);
}

static void put_value(struct etl_process *process, const struct etl_range_value *value,
		      const char *texts, struct value *row)
{
	char why[80];

	row[METRIC] = text(process, METRIC, texts, value->name_length);
	row[UNIT] = value->unit_length ?
		text(process, UNIT, texts + value->name_length, value->unit_length) :
		(struct value){ 0 };
	row[ONE_PASS] = (struct value){ value->parts == ETL_RANGE_PARTS_TOGETHER,
					value->parts == ETL_RANGE_PARTS_TOGETHER ||
						value->parts == ETL_RANGE_PARTS_APART };
	row[VALUE] = row[MISSING] = (struct value){ 0 };
	if (value->result == 0) {
		memcpy(&row[VALUE].number, &value->value, sizeof value->value);
		row[VALUE].is_known = true;
		return;
	}
	if (value->result == -EDOM)
		snprintf(why, sizeof why, "CUPTI's value is no number");
	else if (value->result == -ERANGE)
		snprintf(why, sizeof why, "it needs several passes, and one execution has one");
	else if (value->result == INVALID_METRIC_NAME)
		snprintf(why, sizeof why, "this chip has no such metric");
	else
		snprintf(why, sizeof why, "CUPTI answered %d", (int)value->result);
	row[MISSING] = text(process, MISSING, why, strlen(why));
}

static void put_launch(struct etl_process *process, const struct etl_range_measured *measured,
		       const char *kernel, struct value *row)
{
	static const char *const controls[] = { NULL, "none", "flush" };
	const char *control = measured->cache_control < 3 ? controls[measured->cache_control] : NULL;

	row[PROCESS] = KNOWN(process->process_id);
	row[RANGE] = KNOWN(measured->range_id);
	row[START] = KNOWN(measured->start_ns);
	row[END] = KNOWN(measured->end_ns);
	row[DEVICE] = (struct value){ measured->device_id, measured->device_id >= 0 };
	row[CONTEXT] = (struct value){ measured->context_id, measured->context_id != 0 };
	if (measured->correlation_id)
		row[CORRELATION] =
			KNOWN(nearest_id(process->last_correlation, measured->correlation_id));
	row[PASSES] = KNOWN(measured->passes);
	row[SOURCE] = text(process, SOURCE, "range_profiler", strlen("range_profiler"));
	if (control)
		row[CACHE] = text(process, CACHE, control, strlen(control));
	if (!measured->name_length)
		return;
	if (measured->is_range) {
		row[NAME] = text(process, NAME, kernel, measured->name_length);
		row[LAUNCHES] = KNOWN(measured->launches);
		row[HASH] = KNOWN(measured->launch_hash);
		return;
	}
	row[FUNCTION] = row_kernel(process, ETL_TABLE_LAUNCH_METRIC, FUNCTION, kernel,
				   measured->name_length);
}

/* The values of a launch, which lie in `data` from `at` on; 1 if they are damaged. */
static int add_values(struct etl_process *process, const uint8_t *data, uint32_t bytes, uint32_t at,
		      uint32_t n, struct value *row)
{
	for (; n > 0; n--) {
		struct etl_range_value value;
		uint64_t texts;

		if (bytes - at < sizeof value)
			return 1;
		memcpy(&value, data + at, sizeof value);
		texts = (uint64_t)value.name_length + value.unit_length;
		if (value.bytes % 8 || value.bytes > bytes - at || value.bytes < sizeof value ||
		    texts > value.bytes - sizeof value)
			return 1;
		put_value(process, &value, (const char *)data + at + sizeof value, row);
		if (process->lacks_memory || row_add(process, ETL_TABLE_LAUNCH_METRIC, row,
						     &process->decoded.range_rows) < 0)
			return -ENOMEM;
		at += value.bytes;
	}
	return 0;
}

/* A whole launch, of so many bytes. */
static int add_launch(struct etl_process *process, const uint8_t *data, uint32_t bytes,
		      const struct etl_range_measured *measured)
{
	struct value row[COLUMNS] = { { 0 } };
	const uint32_t name = sizeof *measured;

	if (measured->name_length > bytes - name || etl_padded(measured->name_length) > bytes - name)
		return 1;
	put_launch(process, measured, (const char *)data + name, row);
	if (process->lacks_memory)
		return -ENOMEM;
	return add_values(process, data, bytes, name + etl_padded(measured->name_length),
			  measured->values, row);
}

int decode_range_metrics(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = 0;
	int code = 0;

	while (code == 0 && bytes - at >= sizeof(struct etl_range_measured)) {
		struct etl_range_measured measured;

		memcpy(&measured, data + at, sizeof measured);
		if (measured.bytes % 8 || measured.bytes < sizeof measured || measured.bytes > bytes - at)
			break;
		code = add_launch(process, data + at, measured.bytes, &measured);
		if (code == 0)
			at += measured.bytes;
	}
	process->decoded.damaged_range_rows += code > 0;
	process->decoded.unreadable_bytes += bytes - at;
	return code < 0 ? code : 0;
}

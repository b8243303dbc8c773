#include <errno.h>
#include <string.h>

#include "decode/pc_samples.h"
#include "decode/gather.h"
#include "decode/row.h"
#include "etl/pc_samples.h"

enum { SAMPLE_PROCESS, SAMPLE_START, SAMPLE_END, SAMPLE_DEVICE, SAMPLE_CONTEXT, SAMPLE_CORRELATION,
       SAMPLE_FUNCTION, SAMPLE_CRC, SAMPLE_PC, SAMPLE_REASON, SAMPLE_SAMPLES,
       SAMPLE_NOT_ISSUED, SAMPLE_COLUMNS };
_Static_assert(sizeof pc_sample_columns / sizeof *pc_sample_columns == SAMPLE_COLUMNS,
	       "the columns of pc_sample");
enum { WINDOW_PROCESS, WINDOW_START, WINDOW_END, WINDOW_DEVICE, WINDOW_CONTEXT, WINDOW_MODE,
       WINDOW_PERIOD, WINDOW_TOTAL, WINDOW_STORED, WINDOW_DROPPED, WINDOW_NOT_USER, WINDOW_LOST,
       WINDOW_REST, WINDOW_FULL, WINDOW_COLUMNS };
_Static_assert(sizeof pc_window_columns / sizeof *pc_window_columns == WINDOW_COLUMNS,
	       "the columns of pc_window");
enum { CUBIN_PROCESS, CUBIN_CRC, CUBIN_SIZE, CUBIN_AT, CUBIN_BYTES, CUBIN_COLUMNS };
_Static_assert(sizeof cubin_columns / sizeof *cubin_columns == CUBIN_COLUMNS, "the columns of cubin");

enum { COUNT_PROCESS, COUNT_START, COUNT_END, COUNT_DEVICE, COUNT_CONTEXT, COUNT_FUNCTION, COUNT_CRC,
       COUNT_PC, COUNT_METRIC, COUNT_VALUE, COUNT_COLUMNS };
_Static_assert(sizeof sass_metric_columns / sizeof *sass_metric_columns == COUNT_COLUMNS,
	       "the columns of sass_metric");

/* The text that begins `back` bytes in front of the entry at `at`; NULL if there is none. */
static const char *text_before(const uint8_t *data, uint32_t at, uint32_t back, uint32_t *length)
{
	struct etl_pc_text entry;

	if (back % 8 || back > at || back < sizeof entry)
		return NULL;
	memcpy(&entry, data + at - back, sizeof entry);
	if (entry.type != ETL_PC_TEXT || entry.length > back - sizeof entry)
		return NULL;
	*length = entry.length;
	return (const char *)data + at - back + sizeof entry;
}

static int add_count(struct etl_process *process, const uint8_t *data, uint32_t at)
{
	struct etl_sass_count count;
	const char *function, *metric;
	uint32_t function_bytes = 0, metric_bytes = 0;
	struct value row[COUNT_COLUMNS] = { KNOWN(process->process_id) };

	memcpy(&count, data + at, sizeof count);
	function = text_before(data, at, count.function, &function_bytes);
	metric = text_before(data, at, count.metric, &metric_bytes);
	if ((count.function && !function) || !metric) {
		process->decoded.damaged_pc_rows++;
		return 0;
	}
	row[COUNT_START] = KNOWN(count.start_ns);
	row[COUNT_END] = KNOWN(count.end_ns);
	row[COUNT_DEVICE] = known_if(count.device_id >= 0, (uint32_t)count.device_id);
	row[COUNT_CONTEXT] = known_if(count.context_id, count.context_id);
	row[COUNT_CRC] = KNOWN(count.cubin_crc);
	row[COUNT_PC] = KNOWN(count.pc_offset);
	row[COUNT_VALUE] = KNOWN(count.value);
	row[COUNT_METRIC] =
		row_text(process, ETL_TABLE_SASS_METRIC, COUNT_METRIC, metric, metric_bytes);
	if (function)
		row[COUNT_FUNCTION] = row_kernel(process, ETL_TABLE_SASS_METRIC, COUNT_FUNCTION,
						 function, function_bytes);
	process->decoded.sass_metrics++;
	return row_add(process, ETL_TABLE_SASS_METRIC, row, &process->decoded.pc_rows);
}

static int add_sample(struct etl_process *process, const uint8_t *data, uint32_t at)
{
	struct etl_pc_sample sample;
	const char *function, *reason;
	uint32_t function_bytes = 0, reason_bytes = 0;
	struct value row[SAMPLE_COLUMNS] = { KNOWN(process->process_id) };

	memcpy(&sample, data + at, sizeof sample);
	function = text_before(data, at, sample.function, &function_bytes);
	reason = text_before(data, at, sample.reason, &reason_bytes);
	if ((sample.function && !function) || !reason) {
		process->decoded.damaged_pc_rows++;
		return 0;
	}
	row[SAMPLE_START] = KNOWN(sample.start_ns);
	row[SAMPLE_END] = KNOWN(sample.end_ns);
	row[SAMPLE_DEVICE] = known_if(sample.device_id >= 0, (uint32_t)sample.device_id);
	row[SAMPLE_CONTEXT] = known_if(sample.context_id, sample.context_id);
	row[SAMPLE_CRC] = KNOWN(sample.cubin_crc);
	row[SAMPLE_PC] = KNOWN(sample.pc_offset);
	row[SAMPLE_SAMPLES] = KNOWN(sample.samples);
	row[SAMPLE_NOT_ISSUED] = KNOWN(sample.not_issued);
	row[SAMPLE_REASON] =
		row_text(process, ETL_TABLE_PC_SAMPLE, SAMPLE_REASON, reason, reason_bytes);
	if (function)
		row[SAMPLE_FUNCTION] = row_kernel(process, ETL_TABLE_PC_SAMPLE, SAMPLE_FUNCTION,
						  function, function_bytes);
	if (sample.correlation_id)
		row[SAMPLE_CORRELATION] =
			KNOWN(nearest_id(process->last_correlation, sample.correlation_id));
	process->decoded.pc_samples++;
	return row_add(process, ETL_TABLE_PC_SAMPLE, row, &process->decoded.pc_rows);
}

static int add_window(struct etl_process *process, const uint8_t *data, uint32_t at)
{
	struct etl_pc_window window;
	struct value row[WINDOW_COLUMNS] = { KNOWN(process->process_id) };
	const char *mode;
	bool is_known;

	memcpy(&window, data + at, sizeof window);
	mode = window.is_serialized ? "serialized" : "continuous";
	is_known = !window.is_full;
	row[WINDOW_START] = KNOWN(window.start_ns);
	row[WINDOW_END] = KNOWN(window.end_ns);
	row[WINDOW_DEVICE] = known_if(window.device_id >= 0, (uint32_t)window.device_id);
	row[WINDOW_CONTEXT] = known_if(window.context_id, window.context_id);
	row[WINDOW_MODE] = row_word(process, ETL_TABLE_PC_WINDOW, WINDOW_MODE, mode);
	row[WINDOW_PERIOD] = known_if(window.period_cycles, window.period_cycles);
	row[WINDOW_TOTAL] = known_if(is_known, window.samples);
	row[WINDOW_STORED] = KNOWN(window.stored);
	row[WINDOW_DROPPED] = known_if(is_known, window.dropped);
	row[WINDOW_NOT_USER] = known_if(is_known, window.not_user);
	row[WINDOW_LOST] = KNOWN(window.lost);
	/* Modulo 2^64: a CUPTI whose parts are more than the whole would show as below zero. */
	row[WINDOW_REST] = known_if(is_known, window.samples - window.stored - window.dropped -
						      window.not_user - window.lost);
	row[WINDOW_FULL] = KNOWN(window.is_full != 0);
	return row_add(process, ETL_TABLE_PC_WINDOW, row, &process->decoded.pc_rows);
}

/* Ranks of a job load the same code: of several processes' pieces, the first is kept. */
static int is_kept(struct etl_process *process, const struct etl_pc_cubin *cubin, bool *is)
{
	struct ids *pieces = &process->decoder->cubin_pieces;
	const int64_t key[] = { (int64_t)cubin->cubin_crc, cubin->at };
	const size_t known = pieces->n;

	if (cubin->length && ids_of(pieces, key) < 0)
		return -ENOMEM;
	*is = pieces->n > known;
	return 0;
}

static int add_cubin(struct etl_process *process, const uint8_t *data, uint32_t at)
{
	struct etl_pc_cubin cubin;
	struct value row[CUBIN_COLUMNS] = { KNOWN(process->process_id) };
	bool has_bytes;

	memcpy(&cubin, data + at, sizeof cubin);
	if (cubin.length > cubin.bytes - sizeof cubin) {
		process->decoded.damaged_pc_rows++;
		return 0;
	}
	if (is_kept(process, &cubin, &has_bytes) < 0)
		return -ENOMEM;
	row[CUBIN_CRC] = KNOWN(cubin.cubin_crc);
	row[CUBIN_SIZE] = KNOWN(cubin.size);
	row[CUBIN_AT] = KNOWN(cubin.at);
	if (has_bytes)
		row[CUBIN_BYTES] = row_bytes(process, ETL_TABLE_CUBIN, CUBIN_BYTES,
					     data + at + sizeof cubin, cubin.length);
	return row_add(process, ETL_TABLE_CUBIN, row, &process->decoded.pc_rows);
}

/* Of a whole entry; 1 if it is none. */
static int add_entry(struct etl_process *process, const uint8_t *data, uint32_t at,
		     const uint32_t *head)
{
	switch (head[1]) {
	case ETL_PC_TEXT:
		return head[0] < sizeof(struct etl_pc_text);
	case ETL_PC_SAMPLE:
		return head[0] != sizeof(struct etl_pc_sample) ? 1 : add_sample(process, data, at);
	case ETL_SASS_COUNT:
		return head[0] != sizeof(struct etl_sass_count) ? 1 : add_count(process, data, at);
	case ETL_PC_WINDOW:
		return head[0] != sizeof(struct etl_pc_window) ? 1 : add_window(process, data, at);
	case ETL_PC_CUBIN:
		return head[0] < sizeof(struct etl_pc_cubin) ? 1 : add_cubin(process, data, at);
	default:
		return 1;
	}
}

int decode_pc_samples(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = 0, head[2]; /* the bytes and the type of an entry */

	while (bytes - at >= sizeof head) {
		int code;

		memcpy(head, data + at, sizeof head);
		if (head[0] % 8 || head[0] < sizeof head || head[0] > bytes - at)
			break;
		code = add_entry(process, data, at, head);
		if (code < 0 || process->lacks_memory)
			return -ENOMEM;
		if (code > 0)
			break;
		at += head[0];
	}
	process->decoded.unreadable_bytes += bytes - at;
	return 0;
}

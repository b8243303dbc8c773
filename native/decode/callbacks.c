#include <errno.h>
#include <string.h>

#include "decode/callbacks.h"
#include "decode/gather.h"
#include "decode/row.h"
#include "etl/callbacks.h"

enum { PROCESS, DOMAIN, FUNCTION, START, END, THREAD, CONTEXT, CORRELATION, RESULT, SYMBOL, MESSAGE,
       STREAM, GRID_X, GRID_Y, GRID_Z, BLOCK_X, BLOCK_Y, BLOCK_Z, SHARED, BYTES, COPY_KIND, SRC, DST,
       VALUE, OBJECT, COLUMNS };
_Static_assert(sizeof callback_event_columns / sizeof *callback_event_columns == COLUMNS,
	       "the columns of callback_event");

#define TABLE ETL_TABLE_CALLBACK_EVENT
#define IS_API(domain) ((domain) <= 2)

/* The text of an entry that lies before `end`; NULL where there is none. */
static const char *text_at(const uint8_t *data, uint32_t at, uint32_t end, uint32_t *length)
{
	struct etl_callback_text entry;

	if (at % 8 || at >= end || end - at < sizeof entry)
		return NULL;
	memcpy(&entry, data + at, sizeof entry);
	if (entry.type != ETL_CALLBACK_TEXT || entry.length > end - at - sizeof entry)
		return NULL;
	*length = entry.length;
	return (const char *)data + at + sizeof entry;
}

/* Whether a place that an event names is one. */
static struct value text(struct etl_process *process, const uint8_t *data, uint32_t at,
			     uint32_t end, uint32_t column, bool *is_damaged)
{
	uint32_t length;
	const char *found;

	if (at == ETL_NO_TEXT)
		return known_if(false, 0);
	found = text_at(data, at, end, &length);
	if (!found) {
		*is_damaged = true;
		return known_if(false, 0);
	}
	return row_text(process, TABLE, column, found, length);
}

static struct value symbol(struct etl_process *process, const uint8_t *data, uint32_t at,
			       uint32_t end, bool *is_damaged)
{
	uint32_t length;
	const char *found = text_at(data, at, end, &length);

	return found ? row_kernel(process, TABLE, SYMBOL, found, length) :
		       text(process, data, at, end, SYMBOL, is_damaged);
}

static struct value label(struct etl_process *process, const char *const *labels, size_t n,
			      uint32_t number, uint32_t column)
{
	if (number >= n)
		return known_if(false, 0);
	return row_word(process, TABLE, column, labels[number]);
}

#define N(array) (sizeof(array) / sizeof *(array) - 1) /* they end in NULL */

static void fill(struct etl_process *process, const struct etl_callback_event *event,
		 struct value *row)
{
	bool has_sizes = event->known & ETL_HAS_SIZES;

	row[PROCESS] = KNOWN(process->process_id);
	row[DOMAIN] = label(process, etl_callback_domains, N(etl_callback_domains), event->domain - 1,
			    DOMAIN);
	row[START] = known_if(event->start_ns > 0, (uint64_t)event->start_ns);
	row[END] = known_if(event->end_ns > 0, (uint64_t)event->end_ns);
	row[THREAD] = known_if(event->thread_id, event->thread_id);
	row[CONTEXT] = known_if(event->context_id, event->context_id);
	row[RESULT] = known_if(event->known & ETL_HAS_RESULT, (uint64_t)(int64_t)event->result);
	row[STREAM] = known_if(event->known & ETL_HAS_STREAM, event->stream);
	for (uint32_t axis = 0; axis < 3; axis++) {
		row[GRID_X + axis] = known_if(has_sizes, event->grid[axis]);
		row[BLOCK_X + axis] = known_if(has_sizes, event->block[axis]);
	}
	row[SHARED] = known_if(event->known & ETL_HAS_SHARED, event->shared_bytes);
	row[BYTES] = known_if(event->known & ETL_HAS_BYTES, event->size_bytes);
	if (event->known & ETL_HAS_KIND)
		row[COPY_KIND] = label(process, etl_callback_copy_kinds, N(etl_callback_copy_kinds),
				       event->copy_kind, COPY_KIND);
	row[SRC] = known_if(event->known & ETL_HAS_SRC, event->src);
	row[DST] = known_if(event->known & ETL_HAS_DST, event->dst);
	row[VALUE] = known_if(event->known & ETL_HAS_VALUE, (uint64_t)event->value);
	row[OBJECT] = known_if(event->known & ETL_HAS_OBJECT, event->object);
	if (event->correlation_id) {
		process->last_correlation = nearest_id(process->last_correlation, event->correlation_id);
		row[CORRELATION] = KNOWN(process->last_correlation);
	}
}

/* `end`: where the event lies, before which its texts do. */
static int add_event(struct etl_process *process, const uint8_t *data, uint32_t end)
{
	struct value row[COLUMNS] = { { 0, false } };
	struct etl_callback_event event;
	bool is_damaged = false;

	memcpy(&event, data + end, sizeof event);
	if (event.domain == 0 || event.domain >= ETL_CALLBACK_DOMAINS) {
		process->decoded.damaged_callbacks++;
		return 0;
	}
	fill(process, &event, row);
	row[FUNCTION] = text(process, data, event.function, end, FUNCTION, &is_damaged);
	if (IS_API(event.domain))
		row[SYMBOL] = symbol(process, data, event.text, end, &is_damaged);
	else
		row[MESSAGE] = text(process, data, event.text, end, MESSAGE, &is_damaged);
	if (is_damaged) {
		process->decoded.damaged_callbacks++;
		return 0;
	}
	if (row_add(process, TABLE, row, &process->decoded.callbacks) < 0)
		return -ENOMEM;
	return process->lacks_memory ? -ENOMEM : 0;
}

int decode_callbacks(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = 0, head[2]; /* the bytes and the type of an entry */

	while (bytes - at >= sizeof head) {
		memcpy(head, data + at, sizeof head);
		if (head[0] % 8 || head[0] < sizeof head || head[0] > bytes - at)
			break;
		if (head[1] == ETL_CALLBACK_EVENT) {
			if (head[0] != sizeof(struct etl_callback_event))
				break;
			if (add_event(process, data, at) < 0)
				return -ENOMEM;
		} else if (head[1] != ETL_CALLBACK_TEXT) {
			break;
		}
		at += head[0];
	}
	process->decoded.unreadable_bytes += bytes - at;
	return 0;
}

#include <errno.h>
#include <string.h>

#include "decode/row.h"
#include "decode/rows.h"
#include "etl/rows.h"

/* ---- ranges: rows of marker, and of argument */

enum { MARK_PROCESS, MARK_TIME, MARK_ID, MARK_EVENT, MARK_NAME, MARK_DOMAIN, MARK_OBJECT, MARK_THREAD,
       MARK_COLUMNS };
_Static_assert(sizeof marker_columns / sizeof *marker_columns == MARK_COLUMNS,
	       "the columns of marker");
enum { DATA_PROCESS, DATA_MARK, DATA_KIND, DATA_PAYLOAD, DATA_DOUBLE, DATA_HAS_COLOR, DATA_COLOR,
       DATA_CATEGORY, DATA_DOMAIN, DATA_COLUMNS };
_Static_assert(sizeof marker_data_columns / sizeof *marker_data_columns == DATA_COLUMNS,
	       "the columns of marker_data");
enum { ARGUMENT_PROCESS, ARGUMENT_MARKER, ARGUMENT_CORRELATION, ARGUMENT_TEXT, ARGUMENT_COLUMNS };
_Static_assert(sizeof argument_columns / sizeof *argument_columns == ARGUMENT_COLUMNS,
	       "the columns of argument");

static const char *const domains[ETL_RANGE_DOMAINS] = {
	[ETL_PYTORCH_OPERATOR] = "pytorch.operator",
	[ETL_PYTORCH_BACKWARD] = "pytorch.backward",
	[ETL_PYTORCH_ANNOTATION] = "pytorch.annotation",
	[ETL_PYTORCH_MODULE] = "pytorch.module",
};

static int add_record(struct etl_process *process, uint32_t table, const struct value *row)
{
	if (row_add(process, (int)table, row, &process->decoded.records) < 0)
		return -ENOMEM;
	process->stored[table]++;
	return 0;
}

static int add_mark(struct etl_process *process, const struct etl_range_event *event,
		    const char *name)
{
	struct value row[MARK_COLUMNS] = {
		[MARK_PROCESS] = KNOWN(process->process_id),
		[MARK_TIME] = KNOWN(event->timestamp_ns),
		[MARK_ID] = KNOWN(event->marker_id),
		[MARK_THREAD] = KNOWN((int32_t)event->thread_id),
	};

	row[MARK_EVENT] = row_word(process, ETL_TABLE_MARKER, MARK_EVENT, event->is_end ? "end" : "start");
	row[MARK_OBJECT] = row_word(process, ETL_TABLE_MARKER, MARK_OBJECT, "thread");
	if (!event->is_end)
		row[MARK_NAME] = row_text(process, ETL_TABLE_MARKER, MARK_NAME, name,
					  event->name_bytes);
	if (domains[event->domain])
		row[MARK_DOMAIN] = row_word(process, ETL_TABLE_MARKER, MARK_DOMAIN, domains[event->domain]);
	if (add_record(process, ETL_TABLE_MARKER, row) < 0)
		return -ENOMEM;
	process->decoded.open_ranges += event->is_end ? -1 : 1;
	return 0;
}

static int add_payload(struct etl_process *process, const struct etl_range_event *event)
{
	struct value row[DATA_COLUMNS] = {
		[DATA_PROCESS] = KNOWN(process->process_id),
		[DATA_MARK] = KNOWN(event->marker_id),
		[DATA_KIND] = row_text(process, ETL_TABLE_MARKER_DATA, DATA_KIND, "int64", 5),
		[DATA_PAYLOAD] = KNOWN(event->payload),
	};

	return add_record(process, ETL_TABLE_MARKER_DATA, row);
}

static int add_attributes(struct etl_process *process, const struct etl_range_event *event,
			  const char *attributes)
{
	struct value row[ARGUMENT_COLUMNS] = {
		[ARGUMENT_PROCESS] = KNOWN(process->process_id),
		[ARGUMENT_MARKER] = KNOWN(event->marker_id),
	};

	row[ARGUMENT_TEXT] = row_text(process, ETL_TABLE_ARGUMENT, ARGUMENT_TEXT, attributes,
				      event->attribute_bytes);
	return row_add(process, ETL_TABLE_ARGUMENT, row, NULL);
}

int decode_ranges(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	struct etl_range_event event;
	uint32_t at = 0;

	while (bytes - at >= sizeof event) {
		const char *name = (const char *)data + at + sizeof event;
		uint32_t texts;

		memcpy(&event, data + at, sizeof event);
		if (event.name_bytes > ETL_MOST_RANGE_NAME ||
		    event.attribute_bytes > ETL_MOST_RANGE_ATTRIBUTES ||
		    event.domain >= ETL_RANGE_DOMAINS)
			break;
		texts = etl_padded(event.name_bytes + event.attribute_bytes);
		if (texts > bytes - at - sizeof event)
			break;
		if (add_mark(process, &event, name) < 0 ||
		    (event.payload >= 0 && add_payload(process, &event) < 0) ||
		    (event.attribute_bytes &&
		     add_attributes(process, &event, name + event.name_bytes) < 0))
			return -ENOMEM;
		at += (uint32_t)sizeof event + texts;
	}
	process->decoded.unreadable_bytes += bytes - at;
	return process->lacks_memory ? -ENOMEM : 0;
}

/* ---- facts: rows of any table of records */

/* Of one row, of which `at` is the first fact; where the next row begins, or 0 if it cannot be
 * told. */
static uint32_t read_facts(struct etl_process *process, const struct etl_fact_row *head,
			   const uint8_t *data, uint32_t at, uint32_t bytes, struct value *row)
{
	const struct etl_kind *kind = &etl_kinds[head->table];
	struct etl_fact fact;

	for (uint32_t i = 0; i < head->n; i++) {
		if (bytes - at < sizeof fact)
			return 0;
		memcpy(&fact, data + at, sizeof fact);
		at += (uint32_t)sizeof fact;
		/* Column 0 is the process, which we know. */
		if (fact.column == 0 || fact.column >= kind->n_columns ||
		    fact.text_bytes > bytes - at || etl_padded(fact.text_bytes) > bytes - at)
			return 0;
		if (column_is_text(&kind->columns[fact.column]))
			row[fact.column] = row_text(process, (int)head->table, fact.column,
						    (const char *)data + at, fact.text_bytes);
		else
			row[fact.column] = KNOWN(fact.value);
		at += etl_padded(fact.text_bytes);
	}
	return at;
}

int decode_facts(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = 0;

	while (bytes - at >= sizeof(struct etl_fact_row)) {
		struct value row[ETL_MAX_COLUMNS] = { KNOWN(process->process_id) };
		struct etl_fact_row head;
		uint32_t next;

		memcpy(&head, data + at, sizeof head);
		if (head.table >= ETL_N_KINDS || head.n > ETL_MAX_COLUMNS)
			break;
		next = read_facts(process, &head, data, at + (uint32_t)sizeof head, bytes, row);
		if (!next)
			break;
		if (add_record(process, head.table, row) < 0)
			return -ENOMEM;
		at = next;
	}
	process->decoded.unreadable_bytes += bytes - at;
	return process->lacks_memory ? -ENOMEM : 0;
}

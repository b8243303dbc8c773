#include <errno.h>
#include <string.h>

#include "decode/nccl_events.h"
#include "decode/row.h"
#include "etl/nccl_events.h"

static const char *const kinds[ETL_N_NCCL_KINDS] = { "collective", "p2p", "copy", "channel",
						      "phase" };

enum { PROCESS, EVENT, PARENT, GROUP, KIND, COMMUNICATOR, NAME, RANK, RANKS, SEQUENCE, FUNCTION,
       DATATYPE, COUNT, BYTES, ROOT, PEER, ALGORITHM, PROTOCOL, CHANNELS, CHANNEL, WARPS, STREAM,
       IS_GRAPH, THREAD, CALL, START, END, LAUNCH_START, LAUNCH_END, GPU_START, GPU_END, VERSION,
       COLUMNS };
_Static_assert(sizeof nccl_event_columns / sizeof *nccl_event_columns == COLUMNS,
	       "the columns of nccl_event");

/* Bytes of an element, by the bits in the type's name, as in ncclBfloat16; 0 if it has none. */
static uint64_t element_bytes(const char *name, size_t size)
{
	uint64_t bits = 0;
	size_t at = 0;

	while (at < size && name[at] && (name[at] < '0' || name[at] > '9'))
		at++;
	for (; at < size && name[at] >= '0' && name[at] <= '9' && bits < 1000; at++)
		bits = 10 * bits + (uint64_t)(name[at] - '0');
	return bits / 8;
}

static struct value or_null(uint64_t number)
{
	return known_if(number, number);
}

static struct value text(struct etl_process *process, uint32_t column, const char *text,
			 size_t size)
{
	size_t length = strnlen(text, size);

	return length ? row_text(process, ETL_TABLE_NCCL_EVENT, column, text, length) :
			known_if(false, 0);
}

static int add_event(struct etl_process *process, const void *entry)
{
	const struct etl_nccl_event *event = entry;
	/* Or a phase of one. */
	bool is_channel = event->kind == ETL_NCCL_CHANNEL || event->kind == ETL_NCCL_PHASE;
	uint64_t bytes = element_bytes(event->datatype, sizeof event->datatype), product;
	struct value row[COLUMNS] = {
		[PROCESS] = KNOWN(process->process_id),
		[EVENT] = KNOWN(event->event),
		[PARENT] = or_null(event->parent),
		[GROUP] = or_null(event->group),
		[COMMUNICATOR] = KNOWN(event->communicator),
		[RANK] = KNOWN(event->rank),
		[RANKS] = KNOWN(event->ranks),
		[SEQUENCE] = { (int64_t)event->sequence, event->known & ETL_NCCL_HAS_SEQUENCE },
		[COUNT] = { (int64_t)event->count, !is_channel },
		[ROOT] = { event->peer, event->known & ETL_NCCL_HAS_ROOT },
		[PEER] = { event->peer, event->known & ETL_NCCL_HAS_PEER },
		[CHANNELS] = { event->channels, !is_channel && event->channels },
		[CHANNEL] = { event->channels, is_channel },
		[WARPS] = or_null(event->warps),
		[STREAM] = or_null(event->stream),
		[IS_GRAPH] = { event->is_graph, event->known & ETL_NCCL_HAS_GRAPH },
		[THREAD] = KNOWN(event->thread_id),
		[CALL] = or_null((uint64_t)event->call_start_ns),
		[START] = KNOWN(event->start_ns),
		[END] = or_null((uint64_t)event->end_ns),
		[LAUNCH_START] = or_null((uint64_t)event->launch_start_ns),
		[LAUNCH_END] = or_null((uint64_t)event->launch_end_ns),
		[GPU_START] = or_null(event->gpu_start),
		[GPU_END] = or_null(event->gpu_end),
		[VERSION] = KNOWN(event->version),
	};

	if (!event->event || event->kind >= ETL_N_NCCL_KINDS) {
		process->decoded.damaged_nccl_events++;
		return 0;
	}
	if (!is_channel && bytes && !__builtin_mul_overflow(bytes, event->count, &product))
		row[BYTES] = KNOWN(product);
	row[KIND] = text(process, KIND, kinds[event->kind], 16);
	row[NAME] = text(process, NAME, event->name, sizeof event->name);
	row[FUNCTION] = text(process, FUNCTION, event->function, sizeof event->function);
	row[DATATYPE] = text(process, DATATYPE, event->datatype, sizeof event->datatype);
	row[ALGORITHM] = text(process, ALGORITHM, event->algorithm, sizeof event->algorithm);
	row[PROTOCOL] = text(process, PROTOCOL, event->protocol, sizeof event->protocol);
	if (row_add(process, ETL_TABLE_NCCL_EVENT, row, &process->decoded.nccl_events) < 0)
		return -ENOMEM;
	process->decoded.open_nccl_events += !event->end_ns;
	return 0;
}

int decode_nccl_events(struct etl_process *process, const uint8_t *data, uint32_t bytes)
{
	return decode_entries(process, data, bytes, sizeof(struct etl_nccl_event), add_event);
}

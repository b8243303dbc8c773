/* What a process says of itself, and what was found in it, for Python to read. */
#include <errno.h>
#include <string.h>

#include "arrow/array.h"
#include "decode/process.h"

#define WINDOW_ATTEMPTS 100

static void copy_text(char *out, const char *from, size_t size)
{
	memcpy(out, from, size);
	out[size - 1] = '\0';
}

/* Slots that CUPTI holds, and since when the first of them.  Of a process that ended in
 * order, those it held at its last flush: a call after that (of a static destructor)
 * takes a fresh one, which says nothing. */
static void count_held(const struct etl_process *process, uint64_t *held, int64_t *first)
{
	uint64_t finished = etl_load(&process->header->finished_ns);

	*held = 0;
	*first = 0;
	for (uint64_t slot = 0; slot < process->map.geometry.slots; slot++)
		if (etl_load(&process->map.slots[slot].state) == ETL_HELD) {
			int64_t since = (int64_t)process->map.slots[slot].held_since_ns;

			if (finished && since > (int64_t)finished)
				continue;
			(*held)++;
			if (!*first || since < *first)
				*first = since;
		}
	if (finished && *held > etl_peek(&process->header->counters.held_at_end))
		*held = etl_peek(&process->header->counters.held_at_end);
}

/* What a process counts and the collector tells as it is. */
#define EACH_COUNTED(DO)                                                                           \
	DO(cupti_dropped) DO(unreadable_bytes) DO(published) DO(requests) DO(spares)               \
	DO(flushes) DO(truncated_strings) DO(stacks_lost) DO(callbacks_lost)                       \
	DO(graph_nodes_lost) DO(nccl_events_lost) DO(nccl_too_old) DO(pc_rows_lost)                \
	DO(pc_dropped) DO(pc_full) DO(pc_failure) DO(sass_dropped) DO(sass_failure)                \
	DO(range_rows_lost) DO(range_launches) DO(range_dropped) DO(range_ns)                      \
	DO(range_groups) DO(range_failure)

void etl_process_get_info(const struct etl_process *process, struct etl_process_info *out)
{
	struct etl_segment *header = process->header;
	_Atomic uint64_t *left_out = header->counters.range_left_out;
	uint64_t settled;

	*out = process->info;
	out->layout_generation = etl_load(&header->layout_generation);
	if (process->is_loaded)
		return;
	out->process_id = process->process_id;
	out->start_ns = header->start_ns;
	out->last_flush_ns = (int64_t)etl_load(&header->last_flush_ns);
	out->last_return_ns = (int64_t)etl_load(&header->last_return_ns);
	out->finished_ns = (int64_t)etl_load(&header->finished_ns);
	out->taken_ns = (int64_t)etl_load(&header->taken_ns);
	out->regained_ns = (int64_t)etl_load(&header->regained_ns);
	out->rank = header->rank;
	out->local_rank = header->local_rank;
	out->world_size = header->world_size;
	out->slurm_job_id = header->slurm_job_id;
	out->slurm_proc_id = header->slurm_proc_id;
	/* What an earlier collector took is in that one's trace. */
	out->handed_over = etl_peek(&header->counters.handed_over) - process->drained_before;
#define DRAINED(name) out->name = etl_peek(&header->counters.name) - process->name##_before;
	ETL_EACH_DRAINED(DRAINED)
#define COUNTED(name) out->name = etl_peek(&header->counters.name);
	EACH_COUNTED(COUNTED)
	out->range_cooperative = etl_peek(&left_out[ETL_LEFT_OUT_COOPERATIVE]);
	out->range_graphs = etl_peek(&left_out[ETL_LEFT_OUT_GRAPH]);
	out->range_communication = etl_peek(&left_out[ETL_LEFT_OUT_COMMUNICATION]);
	out->range_others = etl_peek(&left_out[ETL_LEFT_OUT_OTHER]);
	count_held(process, &out->held, &out->first_held_ns);
	settled = etl_load(&header->settled_ns);
	out->is_settled = settled && !out->held && (uint64_t)out->last_return_ns <= settled;
	out->pid = header->pid;
	out->is_selected = header->is_selected;
	out->replay_run = header->replay_run;
	out->parent_pid = header->parent_pid;
	out->cupti_version = header->cupti_version;
	out->driver_version = header->driver_version;
	out->state = etl_load(&header->state);
	out->steps = process->map.steps;
	out->steps_live = etl_load(&header->steps_live);
	copy_text(out->host, header->host, sizeof out->host);
	copy_text(out->cupti_path, header->cupti_path, sizeof out->cupti_path);
	copy_text(out->argv, header->argv, sizeof out->argv);
	copy_text(out->detail, header->detail, sizeof out->detail);
}

void etl_process_get_decoded(const struct etl_process *process, struct etl_decoded *out)
{
	*out = process->decoded;
	out->damaged_stacks += stack_codes_missed(&process->codes);
}

uint64_t etl_process_stored(const struct etl_process *process, int table)
{
	return table >= 0 && table < ETL_N_KINDS ? process->stored[table] : 0;
}

uint64_t etl_process_cut(const struct etl_process *process, int table)
{
	return table >= 0 && table < ETL_N_KINDS ? process->cut[table] : 0;
}

int64_t etl_process_names(const struct etl_process *process)
{
	return (int64_t)process->names.ids.n;
}

int etl_process_take_names(struct etl_process *process, struct ArrowArray *out)
{
	struct ArrowArray *array = dictionary_take(&process->names);

	if (!array)
		return -ENOMEM;
	give_array(array, out);
	return 0;
}

uint64_t etl_process_nulls(const struct etl_process *process, int table, int column)
{
	if (table < 0 || table >= ETL_N_KINDS || column < 0 || column >= ETL_MAX_COLUMNS)
		return 0;
	return process->nulls[table][column];
}

uint64_t etl_process_other_clock(const struct etl_process *process, int table)
{
	return table >= 0 && table < ETL_N_KINDS ? process->other_clock_rows[table] : 0;
}

uint64_t etl_process_early_ends(const struct etl_process *process, int table)
{
	return table >= 0 && table < ETL_N_KINDS ? process->early_ends[table] : 0;
}

uint64_t etl_process_ring_full(const struct etl_process *process, int kind)
{
	return kind >= 0 && kind < ETL_MAX_KIND ?
		       etl_peek(&process->header->counters.ring_full[kind]) :
		       0;
}

uint64_t etl_process_unknown(const struct etl_process *process, int kind)
{
	return kind >= 0 && kind < ETL_MAX_KIND ? process->unknown[kind] : 0;
}

void etl_process_get_place(const struct etl_process *process, int table, int column,
			   struct etl_place *out)
{
	const struct etl_layout *layout = &process->header->layouts[table];

	*out = (struct etl_place){ layout->offset[column], layout->width[column],
				   layout->only_at[column] };
}

void etl_process_set_place(struct etl_process *process, int table, int column,
			   const struct etl_place *place)
{
	struct etl_layout *layout = &process->header->layouts[table];

	if (!process->is_loaded)
		return;
	layout->offset[column] = (uint16_t)place->offset;
	layout->width[column] = (uint8_t)place->width;
	layout->only_at[column] = (uint16_t)place->only_at;
	etl_add(&process->header->layout_generation, 1);
}

int etl_process_window(const struct etl_process *process, uint32_t *number, struct etl_window *out)
{
	const struct etl_segment *header = process->header;

	/* Whoever writes nonsense there without end is not waited for. */
	for (int attempt = 0; attempt < WINDOW_ATTEMPTS; attempt++) {
		/* Acquire: the window is written before it is counted. */
		uint32_t opened = etl_load(&header->windows_opened);
		const struct etl_window *window;

		if (*number >= opened)
			return 0;
		/* The place of the oldest may be being filled for the next one. */
		if (opened - *number >= ETL_WINDOWS)
			*number = opened - ETL_WINDOWS + 1;
		window = &header->windows[*number % ETL_WINDOWS];
		/* Acquire: what else is known of its end is written before that. */
		int64_t end_ns = __atomic_load_n(&window->end_ns, __ATOMIC_ACQUIRE);
		*out = *window;
		out->end_ns = end_ns;
		/* The count is read after the window: was its place taken meanwhile? */
		atomic_thread_fence(memory_order_acquire);
		if (etl_peek(&header->windows_opened) - *number < ETL_WINDOWS)
			break;
	}
	return 1;
}

uint32_t etl_process_stride(const struct etl_process *process, int kind)
{
	return kind >= 0 && kind < ETL_MAX_KIND ? process->header->stride[kind] : 0;
}

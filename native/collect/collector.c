#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decode/decode.h"

/* ---- the decoder and its tables */

struct etl_decoder *etl_decoder_new(void)
{
	struct etl_decoder *decoder = calloc(1, sizeof *decoder);

	if (!decoder)
		return NULL;
	for (int table = 0; table < ETL_N_KINDS; table++)
		decoder->builders[table].kind = &etl_kinds[table];
	return decoder;
}

void etl_decoder_free(struct etl_decoder *decoder)
{
	if (!decoder)
		return;
	for (int table = 0; table < ETL_N_KINDS; table++)
		builder_free(&decoder->builders[table]);
	free(decoder);
}

int etl_table_count(void)
{
	return ETL_N_KINDS;
}

const char *etl_table_name(int table)
{
	return table >= 0 && table < ETL_N_KINDS ? etl_kinds[table].table : NULL;
}

int etl_table_of_kind(int kind)
{
	/* Asked once a record, so answered from a table. */
	static int8_t table_of[ETL_MAX_KIND];
	static _Atomic bool made;

	if (!etl_load(&made)) {
		for (int i = 0; i < ETL_MAX_KIND; i++)
			table_of[i] = (int8_t)etl_table_of((uint32_t)i);
		etl_store(&made, true);
	}
	return kind >= 0 && kind < ETL_MAX_KIND ? table_of[kind] : -1;
}

uint64_t etl_fingerprint(void)
{
	return ETL_FINGERPRINT;
}

int64_t etl_decoder_rows(const struct etl_decoder *decoder, int table)
{
	return decoder->builders[table].rows;
}

int etl_decoder_take(struct etl_decoder *decoder, int table, struct ArrowArray *out)
{
	return builder_take(&decoder->builders[table], out);
}

uint64_t etl_decoder_text_bytes(const struct etl_decoder *decoder, int table)
{
	const struct builder *builder = &decoder->builders[table];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < builder->kind->n_columns; i++)
		bytes += builder->columns[i].dictionary.bytes_used;
	return bytes;
}

/* ---- processes */

static struct etl_process *new_process(struct etl_decoder *decoder, struct etl_segment *header)
{
	struct etl_process *process = aligned_alloc(_Alignof(struct etl_process), sizeof *process);

	if (!process)
		return NULL;
	memset(process, 0, sizeof *process);
	process->decoder = decoder;
	process->serial = ++decoder->processes;
	process->header = header;
	process->lock = -1;
	process->generation = UINT32_MAX;
	process->process_id = header->process_id & INT64_MAX;
	return process;
}

struct etl_process *etl_process_attach(struct etl_decoder *decoder, int fd, char *message)
{
	struct etl_process *process;
	struct etl_error error = { "" };
	struct etl_map map;

	if (etl_segment_attach(fd, &map, &error) < 0) {
		snprintf(message, ETL_MESSAGE_BYTES, "%s", error.message);
		return NULL;
	}
	process = new_process(decoder, map.segment);
	if (!process) {
		etl_segment_unmap(&map);
		snprintf(message, ETL_MESSAGE_BYTES, "no memory for another process");
		return NULL;
	}
	process->map = map;
	return process;
}

struct etl_process *etl_process_load(struct etl_decoder *decoder,
				     const struct etl_process_info *info, const uint32_t *strides,
				     const uint64_t *ring_full, char *message)
{
	struct etl_segment *header = aligned_alloc(64, sizeof *header);
	struct etl_process *process = NULL;

	if (header) {
		memset(header, 0, sizeof *header);
		header->process_id = info->process_id;
		process = new_process(decoder, header);
	}
	if (!process) {
		free(header);
		snprintf(message, ETL_MESSAGE_BYTES, "no memory for another process");
		return NULL;
	}
	process->is_loaded = true;
	etl_process_update(process, info, strides, ring_full);
	return process;
}

void etl_process_update(struct etl_process *process, const struct etl_process_info *info,
			const uint32_t *strides, const uint64_t *ring_full)
{
	struct etl_segment *header = process->header;

	if (!process->is_loaded)
		return;
	process->orphaned_ns = info->orphaned_ns;
	process->adopted_ns = info->adopted_ns;
	process->first_held_ns = info->first_held_ns;
	header->start_ns = info->start_ns;
	header->pid = info->pid;
	header->is_selected = info->is_selected;
	header->parent_pid = info->parent_pid;
	header->cupti_version = info->cupti_version;
	header->driver_version = info->driver_version;
	header->rank = info->rank;
	header->local_rank = info->local_rank;
	header->world_size = info->world_size;
	header->slurm_job_id = info->slurm_job_id;
	header->slurm_proc_id = info->slurm_proc_id;
	memcpy(header->host, info->host, sizeof header->host);
	memcpy(header->cupti_path, info->cupti_path, sizeof header->cupti_path);
	memcpy(header->argv, info->argv, sizeof header->argv);
	memcpy(header->detail, info->detail, sizeof header->detail);
	etl_put(&header->last_flush_ns, (uint64_t)info->last_flush_ns);
	etl_put(&header->last_return_ns, (uint64_t)info->last_return_ns);
	etl_put(&header->finished_ns, (uint64_t)info->finished_ns);
	etl_put(&header->taken_ns, (uint64_t)info->taken_ns);
	etl_put(&header->regained_ns, (uint64_t)info->regained_ns);
	etl_put(&header->counters.handed_over, info->handed_over);
	etl_put(&header->counters.cupti_dropped, info->cupti_dropped);
	etl_put(&header->counters.unreadable_bytes, info->unreadable_bytes);
	etl_put(&header->counters.published, info->published);
	etl_put(&header->counters.requests, info->requests);
	etl_put(&header->counters.spares, info->spares);
	etl_put(&header->counters.flushes, info->flushes);
	etl_put(&header->counters.truncated_strings, info->truncated_strings);
	etl_put(&header->counters.held_at_end, info->held);
	for (uint32_t kind = 0; kind < ETL_MAX_KIND; kind++) {
		etl_put(&header->counters.ring_full[kind], ring_full[kind]);
		/* How chosen fields lie is told column by column. */
		if (strides[kind] != header->stride[kind] && !info->is_selected)
			etl_segment_set_stride(header, kind, strides[kind]);
		header->stride[kind] = strides[kind];
	}
	etl_store(&header->state, info->state);
}

static void free_texts(struct etl_process *process)
{
	text_free(&process->texts);
	text_free(&process->api_texts);
	memset(process->api_text, 0, sizeof process->api_text);
}

void etl_process_free(struct etl_process *process)
{
	if (!process)
		return;
	free_texts(process);
	dictionary_free(&process->names);
	process_unlock(process);
	if (process->is_loaded)
		free(process->header);
	else
		etl_segment_unmap(&process->map);
	free(process);
}

static void refresh_steps(struct etl_process *process, int table, const uint32_t *strides)
{
	const struct etl_kind *kind = &etl_kinds[table];
	struct etl_layout layout;
	uint32_t stride = UINT32_MAX;

	memcpy(&layout, &process->header->layouts[table], sizeof layout);
	/* One without a known size has no records that could be read. */
	for (int i = 0; i < ETL_MAX_ACTIVITIES; i++) {
		uint32_t size = strides[kind->activities[i]];

		if (kind->activities[i] && size && size < stride)
			stride = size;
	}
	for (uint32_t c = 0; c < kind->n_columns; c++) {
		const struct etl_column *column = &kind->columns[c];
		uint8_t width = layout.width[c];

		/* A column that does not fit its record is one we do not have. */
		if (!etl_width_fits(column, width) || layout.offset[c] + width > stride ||
		    (layout.only_at[c] != ETL_ANYWHERE && layout.only_at[c] + 4u > stride))
			width = 0;
		if (column->type == ETL_API_NAME)
			process->cbid_at = layout.offset[c];
		process->steps[table][c] = (struct step){
			.gather = gather_for(column, width),
			.offset = layout.offset[c],
			.only_at = width ? layout.only_at[c] : ETL_ANYWHERE,
			.each = (uint8_t)column_value_bytes(column),
			.is_absent = width == 0 && column->type != ETL_PROCESS,
			.is_text = column_is_text(column),
			.is_kernel_name = strcmp(kind->table, "kernel") == 0 &&
					  strcmp(column->name, "name") == 0,
		};
	}
}

void process_refresh(struct etl_process *process)
{
	uint32_t generation = etl_load(&process->header->layout_generation);
	uint32_t strides[ETL_MAX_KIND];

	if (generation == process->generation)
		return;
	process->generation = generation;
	memcpy(strides, process->header->stride, sizeof strides);
	for (int table = 0; table < ETL_N_KINDS; table++)
		refresh_steps(process, table, strides);
	for (int kind = 0; kind < ETL_MAX_KIND; kind++)
		process->routes[kind] = (struct route){
			.stride = strides[kind] < 8 ? 0 : strides[kind],
			.table = (int8_t)etl_table_of_kind(kind),
			.is_api = (kind == 4 || kind == 5) && process->cbid_at + 4 <= strides[kind],
		};
}

int etl_process_detach(struct etl_process *process, char *message)
{
	struct etl_segment *copy;
	uint64_t held;

	if (process->is_loaded)
		return 0;
	copy = aligned_alloc(64, sizeof *copy);
	if (!copy) {
		snprintf(message, ETL_MESSAGE_BYTES, "no memory for the header of a process");
		return -ENOMEM;
	}
	process_refresh(process);
	process_count_held(process, &held, &process->first_held_ns);
	memcpy(copy, process->header, sizeof *copy);
	etl_put(&copy->counters.held_at_end, held);
	etl_segment_unmap(&process->map);
	process_unlock(process);
	free_texts(process); /* no more records come */
	process->header = copy;
	process->is_loaded = true;
	return 0;
}

int etl_process_next(struct etl_process *process, struct etl_slot_view *out)
{
	const struct etl_slot *line;
	int64_t slot;

	if (process->is_loaded)
		return 0;
	slot = etl_slot_next(&process->map);
	if (slot < 0)
		return 0;
	line = &process->map.slots[slot];
	out->slot = slot;
	out->data = etl_slot_data(&process->map, (uint64_t)slot);
	out->bytes = line->bytes;
	out->content = line->content;
	out->sequence = line->sequence;
	if (out->bytes > etl_slot_bytes((uint64_t)slot))
		out->bytes = (uint32_t)etl_slot_bytes((uint64_t)slot);
	return 1;
}

void etl_process_release(struct etl_process *process, int64_t slot)
{
	if (process->is_loaded || slot < 0 || (uint64_t)slot >= process->map.geometry.slots)
		return;
	/* CUPTI was told that its buffers are zero. */
	memset(etl_slot_data(&process->map, (uint64_t)slot), 0, etl_slot_bytes((uint64_t)slot));
	etl_slot_free(&process->map, (uint64_t)slot, ETL_DRAINING);
}

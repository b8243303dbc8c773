#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/claim.h"
#include "decode/layout.h"

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

struct etl_process *etl_process_map(struct etl_decoder *decoder, int fd, struct etl_error *error)
{
	struct etl_process *process;
	struct etl_map map;

	if (etl_segment_map(fd, &map, error) < 0)
		return NULL;
	process = new_process(decoder, map.segment);
	if (!process) {
		etl_segment_unmap(&map);
		etl_fail(error, ENOMEM, "no memory for another process");
		return NULL;
	}
	process->map = map;
	return process;
}

struct etl_process *etl_process_load(struct etl_decoder *decoder,
				     const struct etl_process_info *info, const uint32_t *strides,
				     const uint64_t *ring_full, struct etl_error *error)
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
		etl_fail(error, ENOMEM, "no memory for another process");
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
	process->info = *info;
	process->info.process_id = process->process_id;
	process->info.steps = process->info.steps_live = 0; /* there are no slots */
	header->start_ns = info->start_ns;
	header->cupti_version = info->cupti_version;
	for (uint32_t kind = 0; kind < ETL_MAX_KIND; kind++) {
		etl_put(&header->counters.ring_full[kind], ring_full[kind]);
		/* How chosen fields lie is told column by column. */
		if (strides[kind] != header->stride[kind] && !info->is_selected)
			etl_segment_set_stride(header, kind, strides[kind]);
		header->stride[kind] = strides[kind];
	}
}

static void free_texts(struct etl_process *process)
{
	text_free(&process->texts);
	text_free(&process->api_texts);
	process->decoded.damaged_stacks += stack_codes_missed(&process->codes);
	stack_codes_free(&process->codes);
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

int etl_process_detach(struct etl_process *process, struct etl_error *error)
{
	struct etl_segment *copy;

	if (process->is_loaded)
		return 0;
	copy = aligned_alloc(64, sizeof *copy);
	if (!copy)
		return etl_fail(error, ENOMEM, "no memory for the header of a process");
	process_refresh(process);
	etl_process_get_info(process, &process->info);
	memcpy(copy, process->header, sizeof *copy);
	etl_segment_unmap(&process->map);
	process_unlock(process);
	free_texts(process); /* no more records come */
	process->header = copy;
	process->is_loaded = true;
	return 0;
}

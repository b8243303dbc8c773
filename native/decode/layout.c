/* How the records of a process are read, as its header says it, which is not trusted. */
#include <string.h>

#include "decode/gather.h"
#include "decode/layout.h"
#include "decode/text_columns.h"
#include "decode/wide.h"
#include "etl/hash.h"

/* What CUPTI 13.5 launches behind each kernel that its range profiler has measured, on a stream of its
 * own and with the same correlation id (seen on an H200). */
#define OWN_KERNEL "WaitNs"

/* The function that reads a column; see gather.h. */
static gather_fn *gather_for(const struct etl_column *column, uint8_t width)
{
	gather_fn *wide = wide_for(column, width);

	if (wide)
		return wide;
	return column_is_text(column) ? text_for(column, width) : narrow_for(column, width);
}

static bool is_kernel_name(const struct etl_kind *kind, const struct etl_column *column)
{
	return strcmp(kind->table, "kernel") == 0 && strcmp(column->name, "name") == 0;
}

static bool is_end(const struct etl_kind *kind, uint32_t c)
{
	return c > 0 && strcmp(kind->columns[c].name, "end_ns") == 0 &&
	       strcmp(kind->columns[c - 1].name, "start_ns") == 0;
}

static void refresh_steps(struct etl_process *process, int table, const uint32_t *strides)
{
	const struct etl_kind *kind = &etl_kinds[table];
	struct etl_layout layout;
	uint32_t stride = UINT32_MAX;

	memcpy(&layout, &process->header->layouts[table], sizeof layout);
	/* One without a known size has no records that could be read. */
	for (int i = 0; i <= ETL_MAX_ACTIVITIES; i++) {
		uint32_t activity = i < ETL_MAX_ACTIVITIES ? kind->activities[i] : kind->serialized;

		if (activity && strides[activity] && strides[activity] < stride)
			stride = strides[activity];
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
		if (is_kernel_name(kind, column))
			process->kernel_name_at = width == 8 ? layout.offset[c] : 0;
		process->steps[table][c] = (struct step){
			.gather = gather_for(column, width),
			.offset = layout.offset[c],
			.only_at = width ? layout.only_at[c] : ETL_ANYWHERE,
			.each = (uint8_t)column_value_bytes(column),
			.is_absent = width == 0 && column->type != ETL_PROCESS,
			.is_text = column_is_text(column),
			.is_kernel_name = is_kernel_name(kind, column),
			.is_end = is_end(kind, c),
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
	process->own_kernel = etl_hash(OWN_KERNEL, strlen(OWN_KERNEL));
	memcpy(strides, process->header->stride, sizeof strides);
	for (int table = 0; table < ETL_N_KINDS; table++)
		refresh_steps(process, table, strides);
	for (int kind = 0; kind < ETL_MAX_KIND; kind++)
		process->routes[kind] = (struct route){
			.stride = strides[kind] < 8 ? 0 : strides[kind],
			.table = (int8_t)etl_table_of_kind(kind),
			.is_api = etl_is_api((uint32_t)kind) && process->cbid_at + 4 <= strides[kind],
			.is_kernel = etl_table_of_kind(kind) == ETL_TABLE_KERNEL &&
				     process->kernel_name_at,
		};
}

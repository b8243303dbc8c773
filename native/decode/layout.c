/* How the records of a process are read, as its header says it, which is not trusted. */
#include <string.h>

#include "decode/gather.h"
#include "decode/layout.h"
#include "decode/text_columns.h"
#include "decode/wide.h"

gather_fn *gather_for(const struct etl_column *column, uint8_t width)
{
	gather_fn *wide = wide_for(column, width);

	if (wide)
		return wide;
	return column_is_text(column) ? text_for(column, width) : narrow_for(column, width);
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
			.is_api = etl_is_api((uint32_t)kind) && process->cbid_at + 4 <= strides[kind],
		};
}

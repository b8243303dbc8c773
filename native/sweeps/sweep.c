/* What Python sees of the sweeps. */
#include "sweeps/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct etl_sweep {
	const struct sweep_kind *kind;
	void *state;
	struct table inputs[MAX_INPUTS]; /* rows of the slice that wait to be put in order */
	struct table outputs[3];
	size_t taken[3];
};

static const struct sweep_kind *const kinds[] = {
	&busy_sweep, &edge_sweep,  &host_sweep,	   &run_sweep,
	&trend_sweep, &depth_sweep, &latency_sweep, &shared_sweep,
	&sample_sweep, &range_sweep, &streams_sweep, &nesting_sweep,
};

/* Once a block of this size was freed, glibc keeps what it is given back in smaller pieces: a batch
 * then has the memory of the one before, instead of new pages that the system must clear. */
static void keep_freed_memory(void)
{
	void *volatile block = malloc((size_t)30 << 20);

	free(block);
}

struct etl_sweep *etl_sweep_new(const char *name)
{
	struct etl_sweep *sweep = calloc(1, sizeof *sweep);

	keep_freed_memory();
	for (size_t i = 0; sweep && i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(kinds[i]->name, name) == 0)
			sweep->kind = kinds[i];
	}
	if (sweep && sweep->kind)
		sweep->state = calloc(1, sweep->kind->state_bytes);
	if (!sweep || !sweep->state) {
		free(sweep);
		return NULL;
	}
	for (unsigned i = 0; i < sweep->kind->n_inputs; i++)
		sweep->inputs[i].width = sweep->kind->widths[i];
	for (unsigned i = 0; i < sweep->kind->n_outputs; i++)
		sweep->outputs[i].width = sweep->kind->out_widths[i];
	return sweep;
}

void etl_sweep_free(struct etl_sweep *sweep)
{
	if (!sweep)
		return;
	sweep->kind->free(sweep->state);
	free(sweep->state);
	for (unsigned i = 0; i < MAX_INPUTS; i++)
		table_free(&sweep->inputs[i]);
	for (unsigned i = 0; i < 3; i++)
		table_free(&sweep->outputs[i]);
	free(sweep);
}

static int add_rows(struct etl_sweep *sweep, unsigned input, const int64_t *const *columns, int64_t n)
{
	unsigned width = sweep->kind->widths[input];
	bool is_ordered = sweep->kind->ordered >> input & 1;
	int64_t unordered[MAX_WIDTH];
	int result = 0;

	for (int64_t i = 0; !result && i < n; i++) {
		int64_t *row = is_ordered ? table_add(&sweep->inputs[input]) : unordered;

		if (!row)
			return -ENOMEM;
		for (unsigned c = 0; c < width; c++)
			row[c] = columns[c][i];
		if (!is_ordered)
			result = sweep->kind->row(sweep->state, input, row, sweep->outputs);
	}
	return result;
}

int etl_sweep_add(struct etl_sweep *sweep, uint32_t input, struct ArrowArray *batch)
{
	const int64_t *columns[MAX_WIDTH];
	int result = -EINVAL;

	if (input < sweep->kind->n_inputs && batch->n_children == sweep->kind->widths[input]) {
		result = 0;
		for (int64_t c = 0; c < batch->n_children; c++) {
			const struct ArrowArray *child = batch->children[c];

			if (child->n_buffers != 2 || child->null_count > 0)
				result = -EINVAL;
			columns[c] = (const int64_t *)child->buffers[1] + child->offset + batch->offset;
		}
		if (!result)
			result = add_rows(sweep, input, columns, batch->length);
	}
	if (batch->release)
		batch->release(batch);
	return result;
}

struct reading {
	struct etl_sweep *sweep;
	unsigned input;
};

static int read_row(void *data, const int64_t *row)
{
	struct reading *reading = data;
	struct etl_sweep *sweep = reading->sweep;

	return sweep->kind->row(sweep->state, reading->input, row, sweep->outputs);
}

int etl_sweep_slice(struct etl_sweep *sweep)
{
	for (unsigned input = 0; input < sweep->kind->n_inputs; input++) {
		struct table *rows = &sweep->inputs[input];
		struct reading reading = {sweep, input};
		int result =
			read_in_order(rows->rows, rows->n, rows->width, read_row, &reading);

		if (result)
			return result;
		rows->n = 0;
	}
	return sweep->kind->slice ? sweep->kind->slice(sweep->state, sweep->outputs) : 0;
}

int etl_sweep_finish(struct etl_sweep *sweep)
{
	for (unsigned input = 0; input < MAX_INPUTS; input++)
		table_free(&sweep->inputs[input]);
	return sweep->kind->finish(sweep->state, sweep->outputs);
}

int64_t etl_sweep_take(struct etl_sweep *sweep, uint32_t output, int64_t most, struct ArrowArray *out)
{
	size_t *taken, from;
	int result;

	if (output >= sweep->kind->n_outputs || most <= 0)
		return -EINVAL;
	taken = &sweep->taken[output];
	from = *taken;
	result = table_export(&sweep->outputs[output], from, (size_t)most, out);
	if (result)
		return result;
	*taken += (size_t)out->length;
	return out->length;
}

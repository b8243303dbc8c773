/* What Python sees of the operators. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etl/operators.h"
#include "operators/operator.h"
#include "operators/ordered.h"

/* Numbers that are near each other are one operator's. */
#define SHARE_SHIFT 10

struct etl_operator {
	const struct operator_kind *kind;
	void *state;
	uint32_t number, of; /* which share of the rows it takes; 0: all */
	struct table inputs[MAX_INPUTS]; /* rows of the slice that wait to be put in order */
	struct table outputs[MAX_OUTPUTS];
	size_t taken[MAX_OUTPUTS];
};

static const struct operator_kind *const kinds[] = {
	&busy_operator, &edge_operator,  &host_operator,	   &run_operator,
	&trend_operator, &depth_operator, &shared_operator,
	&sample_operator, &range_operator, &streams_operator, &nesting_operator,
	&rising_operator,  &unpaired_operator,
};

/* Once a block of this size was freed, glibc keeps what it is given back in smaller pieces: a batch
 * then has the memory of the one before, instead of new pages that the system must clear. */
static void keep_freed_memory(void)
{
	void *volatile block = malloc((size_t)30 << 20);

	free(block);
}

static struct etl_operator *new_operator(const struct operator_kind *kind)
{
	struct etl_operator *operator = calloc(1, sizeof *operator);

	keep_freed_memory();
	if (operator)
		operator->state = calloc(1, kind->state_bytes);
	if (!operator || !operator->state) {
		free(operator);
		return NULL;
	}
	operator->kind = kind;
	for (unsigned i = 0; i < MAX_INPUTS; i++)
		operator->inputs[i].width = kind->widths[i];
	for (unsigned i = 0; i < MAX_OUTPUTS; i++)
		operator->outputs[i].width = kind->out_widths[i];
	return operator;
}

struct etl_operator *etl_operator_new(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(kinds[i]->name, name) == 0)
			return new_operator(kinds[i]);
	}
	return NULL;
}

struct etl_operator *etl_operator_beside(struct etl_operator *operator, uint32_t number, uint32_t of)
{
	const struct operator_kind *kind = operator->kind;
	struct etl_operator *other = kind->beside ? new_operator(kind) : NULL;

	if (other && kind->beside(other->state, operator->state)) {
		etl_operator_free(other);
		return NULL;
	}
	if (other) {
		other->number = number;
		other->of = operator->of = of;
	}
	return other;
}

static bool is_anothers(const struct etl_operator *operator, unsigned input, const int64_t *const *columns,
			int64_t i)
{
	if (!operator->of || input == 0)
		return false;
	return ((uint64_t)columns[operator->kind->shared_by][i] >> SHARE_SHIFT) % operator->of !=
	       operator->number;
}

void etl_operator_free(struct etl_operator *operator)
{
	if (!operator)
		return;
	operator->kind->free(operator->state);
	free(operator->state);
	for (unsigned i = 0; i < MAX_INPUTS; i++)
		table_free(&operator->inputs[i]);
	for (unsigned i = 0; i < MAX_OUTPUTS; i++)
		table_free(&operator->outputs[i]);
	free(operator);
}

static int add_rows(struct etl_operator *operator, unsigned input, const int64_t *const *columns, int64_t n)
{
	unsigned width = operator->kind->widths[input];
	bool is_ordered = operator->kind->ordered >> input & 1;
	int64_t unordered[MAX_WIDTH];
	int result = 0;

	for (int64_t i = 0; !result && i < n; i++) {
		int64_t *row = unordered;

		if (is_anothers(operator, input, columns, i))
			continue;
		if (is_ordered)
			row = table_add(&operator->inputs[input]);
		if (!row)
			return -ENOMEM;
		for (unsigned c = 0; c < width; c++)
			row[c] = columns[c][i];
		if (!is_ordered)
			result = operator->kind->row(operator->state, input, row, operator->outputs);
	}
	return result;
}

int etl_operator_add(struct etl_operator *operator, uint32_t input, struct ArrowArray *batch)
{
	const int64_t *columns[MAX_WIDTH];
	int result = -EINVAL;

	if (input < MAX_INPUTS && batch->n_children > 0 &&
	    batch->n_children == operator->kind->widths[input]) {
		result = 0;
		for (int64_t c = 0; c < batch->n_children; c++) {
			const struct ArrowArray *child = batch->children[c];

			if (child->n_buffers != 2 || child->null_count > 0)
				result = -EINVAL;
			columns[c] = (const int64_t *)child->buffers[1] + child->offset + batch->offset;
		}
		if (!result)
			result = add_rows(operator, input, columns, batch->length);
	}
	if (batch->release)
		batch->release(batch);
	return result;
}

struct reading {
	struct etl_operator *operator;
	unsigned input;
};

static int read_row(void *data, const int64_t *row)
{
	struct reading *reading = data;
	struct etl_operator *operator = reading->operator;

	return operator->kind->row(operator->state, reading->input, row, operator->outputs);
}

int etl_operator_slice(struct etl_operator *operator)
{
	for (unsigned input = 0; input < MAX_INPUTS; input++) {
		struct table *rows = &operator->inputs[input];
		struct reading reading = {operator, input};
		int result =
			read_in_order(rows->rows, rows->n, rows->width, read_row, &reading);

		if (result)
			return result;
		rows->n = 0;
	}
	return operator->kind->slice ? operator->kind->slice(operator->state, operator->outputs) : 0;
}

int etl_operator_finish(struct etl_operator *operator)
{
	for (unsigned input = 0; input < MAX_INPUTS; input++)
		table_free(&operator->inputs[input]);
	return operator->kind->finish ? operator->kind->finish(operator->state, operator->outputs) : 0;
}

int64_t etl_operator_take(struct etl_operator *operator, uint32_t output, int64_t most, struct ArrowArray *out)
{
	size_t *taken, from;
	int result;

	if (output >= MAX_OUTPUTS || !operator->kind->out_widths[output] || most <= 0)
		return -EINVAL;
	taken = &operator->taken[output];
	from = *taken;
	result = table_export(&operator->outputs[output], from, (size_t)most, out);
	if (result)
		return result;
	*taken += (size_t)out->length;
	return out->length;
}

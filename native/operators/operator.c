/* What Python sees of the operators. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etl/operators.h"
#include "operators/operator.h"
#include "operators/ordered.h"

/* Numbers that are near each other are one operator's. */
#define SHARE_SHIFT 10
#define MOST_TURNED 64

struct etl_operator {
	const struct operator_kind *kind;
	void *state;
	uint32_t number, of; /* which share of the rows it takes; 0: all */
	struct table inputs[MAX_INPUTS]; /* rows that wait to be put in order */
	struct table cut[MAX_INPUTS]; /* those of the slice that is to be read */
	struct table outputs[MAX_OUTPUTS];
	size_t taken[MAX_OUTPUTS];
};

static const struct operator_kind *const kinds[] = {
	&busy_operator, &edge_operator,  &host_operator,	   &run_operator,
	&trend_operator, &depth_operator, &shared_operator,
	&sample_operator, &range_operator, &streams_operator, &nesting_operator,
	&rising_operator,  &unpaired_operator, &span_operator,   &tree_operator,
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
		operator->inputs[i].width = operator->cut[i].width = kind->widths[i];
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

static void free_inputs(struct etl_operator *operator)
{
	for (unsigned i = 0; i < MAX_INPUTS; i++) {
		table_free(&operator->inputs[i]);
		table_free(&operator->cut[i]);
	}
}

void etl_operator_free(struct etl_operator *operator)
{
	if (!operator)
		return;
	operator->kind->free(operator->state);
	free(operator->state);
	free_inputs(operator);
	for (unsigned i = 0; i < MAX_OUTPUTS; i++)
		table_free(&operator->outputs[i]);
	free(operator);
}

/* Rows out of columns, few enough at a time to stay in the nearest cache. */
static void turn(int64_t *rows, unsigned width, const int64_t *const *columns, const int64_t *which, int64_t n)
{
	for (unsigned c = 0; c < width; c++) {
		for (int64_t i = 0; i < n; i++)
			rows[(size_t)i * width + c] = columns[c][which[i]];
	}
}

/* Which rows up to `end` are this one's, of which there can be as many as are turned at once. */
static int64_t own_rows(const struct etl_operator *operator, unsigned input, const int64_t *const *columns,
			int64_t from, int64_t end, int64_t *own)
{
	int64_t count = 0;

	for (int64_t i = from; i < end; i++) {
		own[count] = i;
		count += !is_anothers(operator, input, columns, i);
	}
	return count;
}

static int keep_rows(struct etl_operator *operator, unsigned input, const int64_t *const *columns, int64_t n)
{
	struct table *table = &operator->inputs[input];
	int64_t own[MOST_TURNED];

	for (int64_t from = 0, end; from < n; from = end) {
		int64_t room, count, *rows = table_room(table, MOST_TURNED, &room);

		if (!rows)
			return -ENOMEM;
		end = n - from < room ? n : from + room;
		count = own_rows(operator, input, columns, from, end, own);
		turn(rows, table->width, columns, own, count);
		table->n += (size_t)count;
	}
	return 0;
}

static int add_rows(struct etl_operator *operator, unsigned input, const int64_t *const *columns, int64_t n)
{
	unsigned width = operator->kind->widths[input];
	int64_t rows[MOST_TURNED * MAX_WIDTH], own[MOST_TURNED];
	int result = 0;

	for (int64_t from = 0, end; !result && from < n; from = end) {
		int64_t count;

		end = n - from < MOST_TURNED ? n : from + MOST_TURNED;
		count = own_rows(operator, input, columns, from, end, own);
		turn(rows, width, columns, own, count);
		for (int64_t i = 0; !result && i < count; i++)
			result = operator->kind->row(operator->state, input, rows + i * width,
						     operator->outputs);
	}
	return result;
}

bool etl_operator_orders(const struct etl_operator *operator, uint32_t input)
{
	return input < MAX_INPUTS && operator->kind->ordered >> input & 1;
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
		if (!result && etl_operator_orders(operator, input))
			result = keep_rows(operator, input, columns, batch->length);
		else if (!result)
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

void etl_operator_cut(struct etl_operator *operator)
{
	for (unsigned input = 0; input < MAX_INPUTS; input++) {
		struct table read = operator->cut[input];

		operator->cut[input] = operator->inputs[input];
		operator->inputs[input] = read;
	}
}

int etl_operator_slice(struct etl_operator *operator)
{
	for (unsigned input = 0; input < MAX_INPUTS; input++) {
		struct table *rows = &operator->cut[input];
		struct reading reading = {operator, input};
		int result =
			read_in_order(rows->rows, rows->n, rows->width, operator->kind->keys, read_row, &reading);

		if (result)
			return result;
		rows->n = 0;
	}
	return operator->kind->slice ? operator->kind->slice(operator->state, operator->outputs) : 0;
}

int etl_operator_finish(struct etl_operator *operator)
{
	free_inputs(operator);
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

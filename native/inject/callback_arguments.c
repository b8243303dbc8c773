#include <stdlib.h>
#include <string.h>

#include "inject/callback_arguments.h"

enum {
	ARGUMENT_GRID_X, ARGUMENT_GRID_Y, ARGUMENT_GRID_Z, ARGUMENT_BLOCK_X, ARGUMENT_BLOCK_Y,
	ARGUMENT_BLOCK_Z, ARGUMENT_SHARED, ARGUMENT_STREAM, ARGUMENT_BYTES, ARGUMENT_ROWS,
	ARGUMENT_LAYERS, ARGUMENT_KIND, ARGUMENT_SRC, ARGUMENT_DST, ARGUMENT_VALUE, ARGUMENTS,
};

struct argument {
	uint8_t what, width;
	uint16_t offset, via; /* via: of the pointer behind which it lies; DIRECT: none */
};

struct etl_shape {
	const char *function;
	const struct argument *arguments;
	uint8_t n, scale; /* bytes of what is counted */
	uint8_t copy_kind; /* that the name tells, from 1 */
};

struct id {
	uint32_t domain, cbid;
	const char *name;
};

#include "../generated/callbacks.inc"

#define DIRECT UINT16_MAX
#define N(array) (sizeof(array) / sizeof *(array))

static int compare(const void *name, const void *of)
{
	return strcmp(name, ((const struct etl_shape *)of)->function);
}

const struct etl_shape *etl_shape_of(const char *function)
{
	return bsearch(function, shapes, N(shapes), sizeof *shapes, compare);
}

const char *etl_callback_id_name(uint32_t domain, uint32_t cbid)
{
	for (size_t i = 0; i < N(ids); i++)
		if (ids[i].domain == domain && ids[i].cbid == cbid)
			return ids[i].name;
	return NULL;
}

/* A value for each argument that is there; bits of `found` say which are. */
static uint32_t read(const struct etl_shape *shape, const uint8_t *from, uint64_t *values)
{
	uint32_t found = 0;

	for (uint8_t i = 0; i < shape->n; i++) {
		const struct argument *argument = &shape->arguments[i];
		const uint8_t *at = from;

		if (argument->via != DIRECT)
			memcpy(&at, from + argument->via, sizeof at);
		if (!at)
			continue; /* the call will be refused for it */
		memcpy(&values[argument->what], at + argument->offset, argument->width);
		found |= 1u << argument->what;
	}
	return found;
}

#define HAS(what) (found >> ARGUMENT_##what & 1)

void etl_take_arguments(const struct etl_shape *shape, const uint8_t *arguments,
			struct etl_callback_event *event)
{
	uint64_t values[ARGUMENTS] = { 0 };
	uint32_t found = read(shape, arguments, values);

	for (int axis = 0; axis < 3; axis++) {
		event->grid[axis] = (uint32_t)values[ARGUMENT_GRID_X + axis];
		event->block[axis] = (uint32_t)values[ARGUMENT_BLOCK_X + axis];
	}
	event->shared_bytes = values[ARGUMENT_SHARED];
	event->stream = values[ARGUMENT_STREAM];
	event->size_bytes = values[ARGUMENT_BYTES] * shape->scale;
	if (HAS(ROWS))
		event->size_bytes *= values[ARGUMENT_ROWS];
	if (HAS(LAYERS))
		event->size_bytes *= values[ARGUMENT_LAYERS];
	event->src = values[ARGUMENT_SRC];
	event->dst = values[ARGUMENT_DST];
	event->value = (int32_t)(uint32_t)values[ARGUMENT_VALUE];
	event->copy_kind = shape->copy_kind ? shape->copy_kind - 1u : (uint32_t)values[ARGUMENT_KIND];
	event->known |= (HAS(GRID_X) ? ETL_HAS_SIZES : 0) | (HAS(SHARED) ? ETL_HAS_SHARED : 0) |
			(HAS(STREAM) ? ETL_HAS_STREAM : 0) | (HAS(BYTES) ? ETL_HAS_BYTES : 0) |
			(HAS(KIND) || shape->copy_kind ? ETL_HAS_KIND : 0) |
			(HAS(SRC) ? ETL_HAS_SRC : 0) | (HAS(DST) ? ETL_HAS_DST : 0) |
			(HAS(VALUE) ? ETL_HAS_VALUE : 0);
}

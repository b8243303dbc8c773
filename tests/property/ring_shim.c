/* The ring's inline functions as symbols that Python can call. */
#include "etl/ring.h"

#define CELLS 64

__attribute__((visibility("default"))) int shim_cells(void);
__attribute__((visibility("default"))) void shim_init(uint64_t size);
__attribute__((visibility("default"))) int shim_push(uint64_t value);
__attribute__((visibility("default"))) int shim_pop(uint64_t *value);
__attribute__((visibility("default"))) void shim_scribble(int what, uint64_t word);

static struct etl_ring ring;
static struct etl_cell cells[CELLS];
static uint64_t mask;

int shim_cells(void)
{
	return CELLS;
}

void shim_init(uint64_t size)
{
	mask = size - 1;
	etl_ring_init(&ring, cells, mask);
}

int shim_push(uint64_t value)
{
	return etl_ring_push(&ring, cells, mask, value);
}

int shim_pop(uint64_t *value)
{
	return etl_ring_pop(&ring, cells, mask, value);
}

/* Writes over the head, the tail, or the turn of a cell. */
void shim_scribble(int what, uint64_t word)
{
	if (what == 0)
		etl_put(&ring.head, word);
	else if (what == 1)
		etl_put(&ring.tail, word);
	else
		etl_put(&cells[what - 2].turn, word);
}

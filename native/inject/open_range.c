#include <sys/mman.h>

#include "etl/rows.h"
#include "inject/open_range.h"

#define CHUNK ((size_t)64 << 10)
enum { SHORT = 64 - sizeof(struct etl_open_range) % 64, CLASSES = 2 };
static const size_t longest[CLASSES] = { SHORT, ETL_MOST_RANGE_NAME };
static struct etl_open_range *spare[CLASSES];

struct etl_open_range *etl_range_allocate(size_t name_length)
{
	int class = name_length > longest[0];
	size_t each = (sizeof(struct etl_open_range) + longest[class] + 63) & ~(size_t)63;
	struct etl_open_range *range;

	if (!spare[class]) {
		uint8_t *chunk = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t at = 0; chunk != MAP_FAILED && at + each <= CHUNK; at += each) {
			range = (struct etl_open_range *)(void *)(chunk + at);
			range->next = spare[class];
			spare[class] = range;
		}
	}
	range = spare[class];
	if (range)
		spare[class] = range->next;
	return range;
}

void etl_range_free(struct etl_open_range *range)
{
	int class = range->name_length > longest[0];

	range->next = spare[class];
	spare[class] = range;
}

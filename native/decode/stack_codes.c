#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/grow.h"
#include "decode/line_table.h"
#include "decode/stack_codes.h"
#include "etl/stacks.h"

/* Of a process.  Large programs have some ten thousand functions, of about 500 bytes each. */
#define MOST_BYTES ((size_t)256 << 20)

static bool is_whole(const uint8_t *entry, size_t bytes)
{
	struct etl_python_code head;

	if (bytes < sizeof head)
		return false;
	memcpy(&head, entry, sizeof head);
	return sizeof head + (uint64_t)head.file_bytes + head.function_bytes + head.table_bytes == bytes;
}

int stack_codes_add(struct stack_codes *codes, uint64_t id, const uint8_t *entry, size_t bytes)
{
	const int64_t key[] = { (int64_t)id };
	uint8_t *copy;

	codes->ids.width = 1;
	if (!is_whole(entry, bytes))
		return 0;
	if (ids_find(&codes->ids, key) >= 0)
		return 1;
	if (codes->bytes + bytes > MOST_BYTES)
		return -ENOSPC;
	if (GROW(codes->all, codes->ids.n, codes->capacity) < 0)
		return -ENOMEM;
	copy = malloc(bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, entry, bytes);
	codes->all[codes->ids.n] = copy;
	if (ids_of(&codes->ids, key) < 0) {
		free(copy);
		return -ENOMEM;
	}
	codes->bytes += bytes;
	return 1;
}

bool stack_codes_have(struct stack_codes *codes, uint64_t id)
{
	return ids_find(&codes->ids, (const int64_t[]){ (int64_t)id }) >= 0;
}

bool stack_codes_find(struct stack_codes *codes, uint64_t id, uint32_t at, struct stack_code *out,
		      int32_t *line)
{
	int64_t number = ids_find(&codes->ids, (const int64_t[]){ (int64_t)id });
	struct etl_python_code head;
	const uint8_t *texts;

	if (number < 0)
		return false;
	memcpy(&head, codes->all[number], sizeof head);
	texts = codes->all[number] + sizeof head;
	*out = (struct stack_code){
		.file = (const char *)texts,
		.function = (const char *)texts + head.file_bytes,
		.file_bytes = head.file_bytes,
		.function_bytes = head.function_bytes,
		.first_line = head.first_line,
	};
	*line = at == ETL_NOWHERE ? (int32_t)head.first_line :
				    line_at(texts + head.file_bytes + head.function_bytes,
					    head.table_bytes, (int32_t)head.first_line, at);
	return true;
}

void stack_codes_free(struct stack_codes *codes)
{
	for (size_t i = 0; i < codes->ids.n; i++)
		free(codes->all[i]);
	free(codes->all);
	ids_free(&codes->ids);
	ids_free(&codes->stacks);
	ids_free(&codes->missed);
	memset(codes, 0, sizeof *codes);
}

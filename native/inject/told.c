#include <string.h>

#include "inject/injector.h"
#include "inject/told.h"

enum { MOST_IDS = 64 };
static _Atomic uint64_t devices, contexts;

static _Atomic uint64_t *ids(uint32_t table)
{
	return table == ETL_TABLE_DEVICE ? &devices : &contexts;
}

void etl_told(uint32_t activity, const uint8_t *record)
{
	uint32_t table = activity == ETL_ACTIVITY_DEVICE ? ETL_TABLE_DEVICE : ETL_TABLE_CONTEXT;
	const struct etl_layout *layout = &etl_injector.map.segment->layouts[table];
	uint32_t id = 0;

	/* Behind the process comes what it is known by. */
	if (layout->width[1] < sizeof id)
		return;
	memcpy(&id, record + layout->offset[1], sizeof id);
	if (id < MOST_IDS)
		atomic_fetch_or(ids(table), UINT64_C(1) << id);
}

bool etl_is_told(uint32_t table, int64_t id)
{
	return id >= 0 && id < MOST_IDS && etl_peek(ids(table)) & UINT64_C(1) << id;
}

void etl_told_forget(void)
{
	etl_put(&devices, 0);
	etl_put(&contexts, 0);
}

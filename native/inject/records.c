#include <string.h>

#include "inject/environment.h"
#include "inject/fixed.h"
#include "inject/injector.h"
#include "inject/range.h"
#include "inject/records.h"
#include "inject/selected.h"
#include "../generated/env.h"

static bool lacks_a_kind(const struct etl_plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (etl_kinds[plan->kinds[i].table].first_field < 0)
			return true;
	return false;
}

/* Which form the records have.  `auto` is what costs least and disturbs nobody: selected
 * records are cheaper where CUPTI has them (see docs/measurements), but not all kinds can
 * be had so, switching them on costs six times as much, and they take the second
 * interface, while a program that brings its own libcupti may want to use the first. */
const struct etl_records *etl_records_choose(const struct etl_plan *plan, struct etl_error *error)
{
	const char *form = etl_env(ETL_ENV_RECORDS), *obstacle = etl_selected_obstacle();
	bool is_asked_for = form && strcmp(form, "selected") == 0;
	bool is_free = !etl_injector.cupti.is_the_programs && !lacks_a_kind(plan) && !etl_range();

	if (is_asked_for && obstacle) {
		etl_fail(error, 0, "selected records cannot be had: %s", obstacle);
		return NULL;
	}
	if (obstacle || (form && strcmp(form, "fixed") == 0))
		return &etl_fixed_records;
	return is_asked_for || is_free ? &etl_selected_records : &etl_fixed_records;
}

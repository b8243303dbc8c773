#include <errno.h>
#include <string.h>

#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/plan.h"
#include "inject/takeover_probe.h"
#include "../generated/env.h"

bool etl_matches(const char *const *patterns, const char *name)
{
	for (; *patterns; patterns++) {
		size_t length = strlen(*patterns);

		if ((*patterns)[length - 1] == '*' ? strncmp(name, *patterns, length - 1) == 0 :
						     strcmp(name, *patterns) == 0)
			return true;
	}
	return false;
}

const char *etl_next_driver_call(const char *const *patterns, uint32_t *cbid)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	while (cupti->callback_name && ++*cbid < ETL_MAX_CBID) {
		const char *name = NULL;

		if (cupti->callback_name(CUPTI_DOMAIN_DRIVER, *cbid, &name) == CUPTI_OK && name &&
		    etl_matches(patterns, name))
			return name;
	}
	return NULL;
}

int etl_resources_enable(void *subscriber, uint32_t ids)
{
	int code = 0;

	for (uint32_t cbid = 0; cbid < 32; cbid++)
		if (ids >> cbid & 1 && code == 0)
			code = etl_injector.cupti.enable_callback(1, subscriber,
								  CUPTI_DOMAIN_RESOURCE, cbid);
	return code;
}

void etl_launches_enable(struct etl_launches *launches, void *subscriber)
{
	for (uint32_t cbid = 0; etl_next_driver_call(etl_stacks_launches, &cbid);)
		launches->is_one[cbid] = etl_injector.cupti.enable_callback(
						 1, subscriber, CUPTI_DOMAIN_DRIVER, cbid) == CUPTI_OK;
}

void etl_launches_call(struct etl_launches *launches, uint32_t cbid, void *context,
		       void (*at)(void *context))
{
	int saved = errno;

	if (!etl_launches_mean(launches, cbid) || !context || etl_load(&launches->is_over) ||
	    !etl_injector_is_ours())
		return;
	at(context);
	errno = saved;
}

/* Whether the level asks for the records of this function. */
static bool is_wanted(const char *level, uint32_t kind, const char *name)
{
	if (strcmp(level, "none") == 0)
		return false;
	if (strcmp(level, "all") == 0)
		return true;
	if (etl_matches(etl_api_launch, name))
		return true;
	if (strcmp(level, "launch") == 0)
		return false;
	return kind == ETL_ACTIVITY_DRIVER ? etl_matches(etl_api_driver, name) :
					     !etl_matches(etl_api_noise, name);
}

/* CUPTI names a runtime function with the CUDA version of its signature, as in
 * cudaLaunchKernel_v7000.  That suffix (four digits or more) is not part of the name;
 * cuMemcpyHtoD_v2 keeps its own. */
size_t etl_bare_length(const char *name)
{
	size_t length = strlen(name), digits = 0;

	while (digits < length && name[length - 1 - digits] >= '0' &&
	       name[length - 1 - digits] <= '9')
		digits++;
	if (digits >= 4 && length > digits + 2 && name[length - digits - 1] == 'v' &&
	    name[length - digits - 2] == '_')
		return length - digits - 2;
	return length;
}

/* Publishes the names of one API's functions and notes which are wanted. */
static void plan_api(struct etl_api_plan *plan, const char *level)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	char bare[256];

	plan->n_wanted = plan->n_unwanted = 0;
	for (uint32_t cbid = 1; cupti->callback_name && cbid < ETL_MAX_CBID; cbid++) {
		const char *name = NULL;
		size_t length;
		bool wanted;

		if (cupti->callback_name(plan->domain, cbid, &name) != CUPTI_OK || !name) {
			if (cbid > 2048)
				break;
			continue;
		}
		length = etl_bare_length(name);
		if (length >= sizeof bare)
			continue;
		memcpy(bare, name, length);
		bare[length] = '\0';
		wanted = is_wanted(level, plan->kind, bare);
		if (wanted)
			plan->wanted[plan->n_wanted++] = cbid;
		else
			plan->unwanted[plan->n_unwanted++] = cbid;
		pthread_mutex_lock(&etl_injector.publish);
		/* Where single functions cannot be switched, the decoder filters. */
		etl_intern(bare, length, etl_api_tag(plan->kind, cbid),
			   wanted ? 0 : ETL_API_DROP);
		pthread_mutex_unlock(&etl_injector.publish);
	}
	pthread_mutex_lock(&etl_injector.publish);
	etl_intern_flush();
	pthread_mutex_unlock(&etl_injector.publish);
}

/* Whether the table's records are asked for. */
static bool is_asked_for(const struct etl_kind *kind, const char *kinds, bool graphs)
{
	/* They would silence the kernels and copies of graphs. */
	if (kind->preset == ETL_PRESET_GRAPH && !graphs)
		return false;
	if (kinds)
		return etl_list_has(kinds, kind->table);
	return kind->preset <= ETL_PRESET_DEFAULT || kind->preset == ETL_PRESET_GRAPH;
}

void etl_plan_make(struct etl_plan *plan)
{
	const char *kinds = etl_env(ETL_ENV_KINDS), *level = etl_env(ETL_ENV_API);
	const char *graph = etl_env(ETL_ENV_GRAPH);
	bool graphs = graph && strcmp(graph, "graph") == 0;
	bool is_serialized = etl_env(ETL_ENV_SERIALIZED) != NULL;

	if (!level)
		level = "default";
	plan->n = 0;
	plan->api[0] = (struct etl_api_plan){ .kind = ETL_ACTIVITY_DRIVER,
					      .domain = CUPTI_DOMAIN_DRIVER };
	plan->api[1] = (struct etl_api_plan){ .kind = ETL_ACTIVITY_RUNTIME,
					      .domain = CUPTI_DOMAIN_RUNTIME };
	for (int table = 0; table < ETL_N_KINDS; table++) {
		if (!is_asked_for(&etl_kinds[table], kinds, graphs))
			continue;
		for (int i = 0; i < ETL_MAX_ACTIVITIES; i++) {
			uint32_t activity = etl_kinds[table].activities[i];

			if (is_serialized && etl_kinds[table].serialized && activity)
				activity = etl_kinds[table].serialized;
			if (etl_is_api(activity)) {
				struct etl_api_plan *api = &plan->api[activity == ETL_ACTIVITY_RUNTIME];

				api->is_asked_for = strcmp(level, "none") != 0;
				if (api->is_asked_for)
					plan_api(api, level);
			} else if (activity) {
				plan->kinds[plan->n++] = (struct etl_planned){
					activity, table, etl_kinds[table].is_lasting, false, 0
				};
			}
		}
	}
	/* For the one call of it that we make. */
	if (!plan->api[0].is_asked_for)
		plan_api(&plan->api[0], "none");
	etl_takeover_probe_plan(plan);
}

#include <errno.h>
#include <string.h>

#include "etl/clock.h"
#include "etl/graph_nodes.h"
#include "etl/strings.h"
#include "inject/graph_nodes.h"
#include "inject/injector.h"
#include "inject/launch_stacks.h"
#include "inject/plan.h"
#include "inject/recording.h"
#include "inject/row_slot.h"
#include "inject/thread_id.h"

/* CUpti_CallbackIdResource. */
enum {
	GRAPHNODE_CREATED = 13,
	GRAPHNODE_CLONED = 20,
	GRAPH_NODE_UPDATED = 22, /* from CUDA 13.0 on */
};
enum { RESOURCES = 1 << GRAPHNODE_CREATED | 1 << GRAPHNODE_CLONED | 1 << GRAPH_NODE_UPDATED };

/* CUpti_GraphData, the same in CUDA 12 and 13. */
struct graph_data {
	void *graph, *original_graph;
	void *node, *original_node;
	uint32_t kind;
	void *dependency;
	void *executable;
};

/* Calls that make nodes of other nodes.  CUPTI tells of those as created, too; the line of such a
 * call is not the one that they are from. */
static const char *const cloning[] = { "cuGraphAddChildGraphNode", "cuGraphClone",
				       "cuGraphExecUpdate*", "cuGraphInstantiate*", NULL };
static const char *const updating[] = { "cuGraphExecUpdate*", NULL };

static bool is_cloning[ETL_MAX_CBID], is_updating[ETL_MAX_CBID]; /* by callback id */
static __thread unsigned clones; /* such calls that the thread is in */
static __thread bool has_told; /* of an update, in the call that the thread is in */
static bool is_told, is_noted;
static _Atomic bool was_updated;
static struct etl_row_slot nodes = ETL_ROW_SLOT(ETL_GRAPH_NODES, struct etl_graph_node);

void etl_graph_nodes_call(uint32_t cbid, bool is_return)
{
	if (cbid >= ETL_MAX_CBID || !is_cloning[cbid])
		return;
	if (!is_return)
		clones++;
	else if (clones)
		clones--;
	/* CUPTI 12 tells of no update, and 13.0 and 13.5 not of all. */
	if (is_updating[cbid] && is_return && !has_told)
		etl_put(&was_updated, true);
	has_told = false;
}

static uint64_t id_of(void *node)
{
	uint64_t id = 0;

	return node && etl_injector.cupti.graph_node_id(node, &id) == CUPTI_OK ? id : 0;
}

/* Also while nothing is recorded: a graph is captured in the first steps, and replayed in those
 * that are looked at. */
void etl_graph_nodes_resource(uint32_t cbid, const void *info)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	const struct graph_data *data = info ? ((const struct cupti_resource *)info)->descriptor : NULL;
	bool is_made = cbid == GRAPHNODE_CREATED;
	struct etl_graph_node node = { .at_ns = etl_now_ns() };
	int saved = errno;

	if ((!is_made && cbid != GRAPHNODE_CLONED && cbid != GRAPH_NODE_UPDATED) || !data ||
	    (is_made && clones) || !etl_injector_is_ours())
		return;
	has_told |= cbid == GRAPH_NODE_UPDATED;
	node.id = id_of(data->node);
	node.source_id = is_made ? 0 : id_of(data->original_node);
	if (node.id && (is_made || node.source_id)) {
		node.kind = (uint16_t)data->kind;
		node.thread_id = etl_thread_id();
		if (is_made)
			node.state = (uint16_t)etl_launch_stacks_here(&node.stack_id);
		etl_row_slot_add(&nodes, &node, &counters->graph_nodes, &counters->graph_nodes_lost);
	}
	errno = saved;
}

void etl_graph_nodes_flush(void)
{
	etl_row_slot_flush(&nodes);
	if (!etl_peek(&was_updated) || is_noted)
		return;
	is_noted = true;
	etl_recording_note("CUDA graphs were updated, of which this libcupti does not tell: their "
			   "kernels have the lines of the first capture");
}

bool etl_graph_nodes_mean(uint32_t domain, uint32_t cbid)
{
	if (domain == CUPTI_DOMAIN_DRIVER)
		return cbid < ETL_MAX_CBID && is_cloning[cbid];
	return is_told && etl_resources_mean(RESOURCES, domain, cbid);
}

void etl_graph_nodes_forget(void)
{
	memset(is_cloning, 0, sizeof is_cloning);
	memset(is_updating, 0, sizeof is_updating);
	is_told = is_noted = false;
	etl_put(&was_updated, false);
}

void etl_graph_nodes_enable(void *subscriber)
{
	const struct cupti_api *cupti = &etl_injector.cupti;

	if (!etl_launch_stacks_are_wanted() || !cupti->graph_node_id)
		return;
	for (uint32_t cbid = 0; etl_next_driver_call(updating, &cbid);)
		is_updating[cbid] = true;
	for (uint32_t cbid = 0; etl_next_driver_call(cloning, &cbid);)
		is_cloning[cbid] = cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER,
							  cbid) == CUPTI_OK;
	is_told = true;
	(void)etl_resources_enable(subscriber, RESOURCES);
}

#include <string.h>

#include "inject/callback_arguments.h"
#include "inject/callback_events.h"
#include "inject/cupti_api.h"
#include "inject/thread_id.h"

enum { DOMAIN_RESOURCE = 3, DOMAIN_SYNCHRONIZE, DOMAIN_NVTX, DOMAIN_STATE };

/* What the last member of struct cupti_resource leads to. */
struct module_data { /* CUpti_ModuleResourceData */
	uint32_t id;
	size_t bytes;
};
struct graph_data { /* CUpti_GraphData */
	uint64_t graph, original_graph, node, original_node;
	int node_type;
	uint64_t dependency, executable;
};
struct stream_data { /* CUpti_StreamAttrData */
	uint64_t stream;
};
struct synchronize_data { /* CUpti_SynchronizeData */
	void *context;
	uint64_t stream;
};
struct nvtx_data { /* CUpti_NvtxData */
	const char *function;
	const void *const *parameters;
};
struct nvtx_attributes { /* the part of nvtxEventAttributes_t that is read */
	uint16_t version, size;
	uint32_t category, color_type, color, payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const char *message;
};
struct state_data { /* CUpti_StateData */
	int32_t result;
	const char *message;
};

static void call(const struct etl_callback_data *data, const struct etl_callback_name *name,
		 struct etl_callback_event *event, struct etl_callback_string *text)
{
	event->site = data->site == 1 ? ETL_SITE_EXIT : ETL_SITE_ENTER;
	event->context_id = data->context_uid;
	event->correlation_id = data->correlation_id;
	text->text = data->symbol;
	if (data->site == 1 && data->result) {
		memcpy(&event->result, data->result, sizeof event->result);
		event->known |= ETL_HAS_RESULT;
	}
	if (name->shape && data->parameters)
		etl_take_arguments(name->shape, data->parameters, event);
}

/* The numbers are those of CUpti_CallbackIdResource. */
static void resource(uint32_t cbid, const struct cupti_resource *data,
		     struct etl_callback_event *event)
{
	struct module_data module;
	struct graph_data graph;
	struct stream_data stream;

	if (cbid == 3 || cbid == 4) { /* of a stream */
		event->stream = event->object = (uintptr_t)data->stream;
		event->known |= ETL_HAS_STREAM | ETL_HAS_OBJECT;
	} else if (cbid == 1 || cbid == 2) { /* of a context */
		event->object = (uintptr_t)data->context;
		event->known |= ETL_HAS_OBJECT;
	} else if (!data->descriptor) {
		return;
	} else if (cbid >= 6 && cbid <= 8) { /* of a module */
		memcpy(&module, data->descriptor, sizeof module);
		event->object = module.id;
		event->size_bytes = module.bytes;
		event->known |= ETL_HAS_OBJECT | ETL_HAS_BYTES;
	} else if (cbid == 21) { /* of a stream's attribute */
		memcpy(&stream, data->descriptor, sizeof stream);
		event->stream = event->object = stream.stream;
		event->known |= ETL_HAS_STREAM | ETL_HAS_OBJECT;
	} else if ((cbid >= 9 && cbid <= 20) || cbid == 22 || cbid == 23) { /* of a graph */
		memcpy(&graph, data->descriptor, sizeof graph);
		event->object = cbid <= 11 ? graph.graph :
				cbid >= 17 && cbid <= 19 ? graph.executable : graph.node;
		event->known |= ETL_HAS_OBJECT;
	}
}

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), more = strlen(ending);

	return length >= more && strcmp(name + length - more, ending) == 0;
}

/* The message of what is marked; not one that is registered, or of wide characters. */
static const char *message(const char *function, const struct nvtx_data *data)
{
	bool is_of_domain = strncmp(function, "nvtxDomain", 10) == 0;
	bool is_marking = strstr(function, "Mark") || strstr(function, "RangeStart") ||
			  strstr(function, "RangePush");
	const struct nvtx_attributes *attributes;

	if (!data->parameters || !is_marking)
		return NULL;
	if (ends_in(function, "A"))
		return data->parameters[0];
	if (!ends_in(function, "Ex"))
		return NULL;
	attributes = data->parameters[is_of_domain];
	return attributes && attributes->message_type == 1 ? attributes->message : NULL;
}

void etl_callback_event(uint32_t domain, uint32_t cbid, const void *info,
			const struct etl_callback_name *name, struct etl_callback_event *event,
			struct etl_callback_string *text)
{
	*event = (struct etl_callback_event){ .domain = domain, .cbid = cbid,
					      .site = ETL_SITE_MOMENT, .thread_id = etl_thread_id() };
	text->text = NULL;
	text->length = 0;
	/* That the driver is initialised comes with nothing. */
	if (!info)
		return;
	if (domain <= CUPTI_DOMAIN_RUNTIME) {
		call(info, name, event, text);
	} else if (domain == DOMAIN_RESOURCE) {
		resource(cbid, info, event);
	} else if (domain == DOMAIN_SYNCHRONIZE) {
		event->stream = ((const struct synchronize_data *)info)->stream;
		event->known |= ETL_HAS_STREAM;
	} else if (domain == DOMAIN_NVTX) {
		text->text = message(name->text.text, info);
	} else {
		event->result = ((const struct state_data *)info)->result;
		event->known |= ETL_HAS_RESULT;
		text->text = ((const struct state_data *)info)->message;
	}
	text->length = text->text ? strlen(text->text) : 0;
}

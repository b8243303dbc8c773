/* The profiler host against a CUPTI of our own that fails at each of its calls in turn: nothing
 * is left, what is refused is named, and the host goes on with a new object.
 *
 * CUPTI here is functions in a struct pm_api, so that the sanitizers see both sides. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "etl/abi.h"
#include "pm/pm_api.h"

struct object {
	bool is_spoilt;
	size_t metrics;
};

static struct {
	unsigned calls, fail_at; /* the call that fails; 0: none */
	int objects; /* that live */
	size_t head; /* size that the last object was asked for with */
} cupti;

static int get_result_string(int result, const char **text)
{
	*text = result == PM_INVALID_METRIC_NAME ? "NO_SUCH_METRIC" : "A_RESULT";
	return 0;
}

static bool fails(void)
{
	return ++cupti.calls == cupti.fail_at;
}

static int host_initialize(struct pm_host_initialize *ask)
{
	if (fails())
		return PM_NOT_SUPPORTED;
	cupti.head = ask->struct_size;
	ask->object = calloc(1, sizeof(struct object));
	cupti.objects++;
	return 0;
}

static int host_deinitialize(struct pm_object *ask)
{
	free(ask->object);
	cupti.objects--;
	return 0;
}

/* As CUPTI: an object that refused something refuses all. */
static int use(void *object, int refusal)
{
	struct object *mine = object;

	if (mine->is_spoilt)
		return PM_UNKNOWN;
	if (fails())
		refusal = PM_HARDWARE_BUSY;
	mine->is_spoilt = refusal != 0;
	return refusal;
}

static int add_metrics(struct pm_add_metrics *ask)
{
	struct object *mine = ask->object;
	int refusal = 0;

	for (size_t i = 0; i < ask->count; i++)
		if (strncmp(ask->metrics[i], "bad", 3) == 0)
			refusal = PM_INVALID_METRIC_NAME;
	mine->metrics += ask->count;
	return use(mine, refusal);
}

static int config_size(struct pm_config_size *ask)
{
	ask->size = sizeof(size_t);
	return use(ask->object, 0);
}

static int config_image(struct pm_config_image *ask)
{
	memcpy(ask->image, &((struct object *)ask->object)->metrics, ask->size);
	return use(ask->object, 0);
}

/* Three metrics fit a pass. */
static int number_of_passes(struct pm_number_of_passes *ask)
{
	size_t metrics;

	memcpy(&metrics, ask->image, sizeof metrics);
	ask->passes = (metrics + 2) / 3;
	return fails() ? PM_UNKNOWN : 0;
}

static int evaluate(struct pm_evaluate *ask)
{
	for (size_t m = 0; m < ask->count; m++)
		ask->values[m] = (double)ask->range + (double)m / 10;
	return use(ask->object, ask->range >= 8 ? PM_INVALID_PARAMETER : 0);
}

static int properties(struct pm_properties *ask)
{
	ask->description = NULL;
	ask->metric_type = PM_METRIC_RATIO;
	if (ask->struct_size == PM_SIZE(pm_properties, collection_scope))
		ask->collection_scope = PM_SCOPE_DEVICE;
	return use(ask->object, 0);
}

static int single_pass_sets(struct pm_single_pass_sets *ask)
{
	if (ask->sets)
		ask->sets[0] = "One";
	ask->count = 1;
	return fails() ? PM_UNKNOWN : 0;
}

static int set_metrics(struct pm_set_metrics *ask)
{
	if (ask->buffer) {
		CHECK(ask->count == 2 && ask->buffer_size == 4);
		memcpy(ask->buffer, "a\0b", 4);
		ask->indices[0] = 0;
		ask->indices[1] = strcmp(ask->set, "Outside") == 0 ? 4 : 2;
	}
	ask->count = 2;
	ask->buffer_size = 4;
	return fails() ? PM_UNKNOWN : 0;
}

static const struct pm_api newest = {
	.version = 130500,
	.path = "libcupti.so.13",
	.get_result_string = get_result_string,
	.host_initialize = host_initialize,
	.host_deinitialize = host_deinitialize,
	.add_metrics = add_metrics,
	.config_size = config_size,
	.config_image = config_image,
	.number_of_passes = number_of_passes,
	.evaluate = evaluate,
	.properties = properties,
	.single_pass_sets = single_pass_sets,
	.set_metrics = set_metrics,
};

static const char *const metrics[] = { "a", "b", "c", "bad", "d" };

/* Most of what can be asked; returns the first failure. */
static int all_of_it(void)
{
	static const uint8_t is_optional[5] = { 0, 0, 1, 1, 1 };
	struct etl_error error;
	struct etl_metric_text text;
	struct pm_host *host = NULL;
	struct etl_bytes config = { 0 };
	struct etl_names names = { 0 };
	double values[2][4], *columns[2] = { values[0], values[1] };
	uint8_t is_kept[5];
	uint32_t passes;
	int result = etl_host_new(&newest, "CHIP", PM_TYPE_PM_SAMPLING,
				  &(struct etl_bytes){ (uint8_t[]){ 'a', 'v' }, 2 }, "One", &host,
				  &error);

	if (result)
		return result;
	result = etl_host_config(host, metrics, 2, &config, &passes, &error);
	if (result == 0)
		CHECK(passes == 1 && config.size == sizeof(size_t));
#ifndef PLANT_LEAK
	etl_bytes_free(&config);
#endif
	if (result == 0)
		result = etl_host_evaluate(host, NULL, 0, 4, 4, metrics, 2, columns, &error);
	if (result == 0)
		CHECK(values[0][0] == 4 && values[1][3] == 7.1);
	if (result == 0)
		result = etl_host_describe(host, "a", &text, &error);
	if (result == 0)
		CHECK(!*text.description && text.collection_scope == PM_SCOPE_DEVICE);
	if (result == 0)
		result = etl_host_select(host, metrics, is_optional, 5, is_kept, &error);
	if (result == 0 && !cupti.fail_at)
		CHECK(is_kept[0] && is_kept[1] && is_kept[2] && !is_kept[3] && !is_kept[4]);
	if (result == 0) {
		result = etl_cupti_sets(&newest, "CHIP", &names, &error);
		CHECK(result ? !names.names : names.count == 1 && strcmp(names.names[0], "One") == 0);
		etl_names_free(&names);
	}
	if (result == 0) {
		result = etl_cupti_set_metrics(&newest, "CHIP", "One", &names, &error);
		CHECK(result ? !names.names : names.count == 2 && strcmp(names.names[1], "b") == 0);
		etl_names_free(&names);
	}
	etl_host_free(host);
	return result;
}

static void test_each_call_fails_once(void)
{
	unsigned calls;

	CHECK(all_of_it() == 0 && cupti.objects == 0);
	calls = cupti.calls;
	CHECK(calls > 30);
	for (unsigned at = 1; at <= calls; at++) {
		cupti.calls = 0;
		cupti.fail_at = at;
		/* A failure while optional metrics are tried only leaves one out. */
		CHECK(all_of_it() >= 0);
		CHECK(cupti.objects == 0);
	}
	cupti.fail_at = 0;
}

static void test_a_refused_metric_is_named(void)
{
	struct etl_error error;
	struct pm_host *host;
	struct etl_bytes config;
	uint32_t passes;
	double value, *const columns[] = { &value };

	CHECK(etl_host_new(&newest, "CHIP", PM_TYPE_RANGE, NULL, NULL, &host, &error) == 0);
	CHECK(etl_host_config(host, metrics, 5, &config, &passes, &error) ==
	      PM_INVALID_METRIC_NAME);
	CHECK(strstr(error.message, "refuses bad on CHIP: NO_SUCH_METRIC (17)") && !config.data);
	CHECK(etl_host_config(host, metrics, 0, &config, &passes, &error) < 0);
	/* A new object: what was added before is not there. */
	for (int i = 0; i < 2; i++) {
		CHECK(etl_host_config(host, metrics, 3, &config, &passes, &error) == 0);
		CHECK(passes == 1);
		etl_bytes_free(&config);
	}
	CHECK(etl_host_evaluate(host, NULL, 0, 8, 1, metrics, 1, columns, &error) ==
	      PM_INVALID_PARAMETER);
	CHECK(etl_host_evaluate(host, NULL, 0, 7, 1, metrics, 1, columns, &error) == 0);
	CHECK(value == 7);
	etl_host_free(host);
	CHECK(cupti.objects == 0);
}

static void test_older_cuptis_get_shorter_structs(void)
{
	struct pm_api old = newest;
	struct etl_metric_text text;
	struct etl_error error;
	struct pm_host *host;
	struct etl_names names;

	old.version = 28;
	old.single_pass_sets = NULL;
	old.set_metrics = NULL;
	CHECK(etl_host_new(&old, "CHIP", PM_TYPE_RANGE, NULL, "One", &host, &error) < 0 && !host);
	CHECK(strstr(error.message, "CUDA 13.2 or later is needed"));
	CHECK(etl_cupti_sets(&old, "CHIP", &names, &error) < 0);
	CHECK(etl_cupti_set_metrics(&old, "CHIP", "One", &names, &error) < 0);
	CHECK(etl_host_new(&old, "CHIP", PM_TYPE_RANGE, NULL, NULL, &host, &error) == 0);
	CHECK(cupti.head == PM_SIZE(pm_host_initialize, object));
	CHECK(etl_host_describe(host, "a", &text, &error) == 0);
	CHECK(text.collection_scope == PM_SCOPE_UNKNOWN);
	etl_host_free(host);
	CHECK(etl_host_new(&newest, "CHIP", PM_TYPE_RANGE, NULL, NULL, &host, &error) == 0);
	CHECK(cupti.head == PM_SIZE(pm_host_initialize, single_pass_set));
	etl_host_free(host);
}

static void test_names_outside_of_their_buffer(void)
{
	struct etl_error error;
	struct etl_names names;

	CHECK(etl_cupti_set_metrics(&newest, "CHIP", "Outside", &names, &error) < 0 && !names.names);
	CHECK(strstr(error.message, "outside its buffer"));
}

int main(void)
{
	test_each_call_fails_once();
	test_a_refused_metric_is_named();
	test_older_cuptis_get_shorter_structs();
	test_names_outside_of_their_buffer();
	return 0;
}

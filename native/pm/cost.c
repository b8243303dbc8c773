/* What a sample costs: its counter data. */
#include "pm/cost.h"

enum { INTERVAL_NS = 1000000, BUFFER_BYTES = 16 << 20, FEW = 1000, MANY = 3000 };

static int configure(const struct pm_api *api, void *object, int trigger, const uint8_t *config,
		     size_t config_bytes, struct etl_error *error)
{
	struct pm_set_config ask = PM_PARAMS(pm_set_config, trigger, .object = object,
		.config_size = config_bytes, .config = config,
		.hardware_buffer_size = BUFFER_BYTES, .interval = INTERVAL_NS, .trigger = trigger,
		.append_mode = PM_KEEP_OLDEST);
	int result;

	if (api->version >= PM_API_APPEND_MODE)
		ask.struct_size = PM_SIZE(pm_set_config, append_mode);
	result = api->set_config(&ask);
	return result ? pm_fail(api, result, "cuptiPmSamplingSetConfig", error) : 0;
}

int pm_sample_bytes(const struct pm_api *api, size_t device, int trigger, const uint8_t *config,
		    size_t config_bytes, const char *const *metrics, size_t n, double *bytes,
		    struct etl_error *error)
{
	struct pm_enable enable = PM_PARAMS(pm_enable, object, .device = device);
	struct pm_counter_data_size few = PM_PARAMS(pm_counter_data_size, size,
		.metrics = metrics, .count = n, .max_samples = FEW);
	struct pm_counter_data_size many = few;
	struct pm_object disable = PM_PARAMS(pm_object, object);
	int result = api->enable(&enable);

	*bytes = 0;
	if (result)
		return pm_fail(api, result, "cuptiPmSamplingEnable", error);
	few.object = many.object = disable.object = enable.object;
	many.max_samples = MANY;
	result = configure(api, enable.object, trigger, config, config_bytes, error);
	if (result == 0) {
		result = api->counter_data_size(&few);
		if (result == 0)
			result = api->counter_data_size(&many);
		if (result)
			result = pm_fail(api, result, "cuptiPmSamplingGetCounterDataSize", error);
		else /* an image has a head, too */
			*bytes = ((double)many.size - (double)few.size) / (MANY - FEW);
	}
	api->disable(&disable);
	return result;
}

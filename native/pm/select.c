/* Which optional metrics a device has, and has room for in one pass. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "etl/abi.h"

/* In how many passes the kept ones are counted. */
static int count_passes(struct pm_host *host, const char *const *metrics, const uint8_t *is_kept,
			size_t n, const char **kept, uint32_t *passes, struct etl_error *error)
{
	struct etl_bytes config;
	size_t count = 0;
	int result;

	for (size_t i = 0; i < n; i++)
		if (is_kept[i])
			kept[count++] = metrics[i];
	*passes = 0;
	if (count == 0)
		return 0;
	result = etl_host_config(host, kept, count, &config, passes, error);
	etl_bytes_free(&config);
	return result;
}

int etl_host_select(struct pm_host *host, const char *const *metrics, const uint8_t *is_optional,
		    uint64_t n, uint8_t *is_kept, struct etl_error *error)
{
	const char **kept = calloc(n ? n : 1, sizeof *kept);
	uint32_t passes;
	int result;

	if (!kept)
		return etl_fail(error, ENOMEM, "no memory for %lu metrics", n);
	for (size_t i = 0; i < n; i++)
		is_kept[i] = true;
	/* Mostly all are there. */
	result = count_passes(host, metrics, is_kept, n, kept, &passes, error);
	if (result == 0 && passes <= 1)
		goto out;
	for (size_t i = 0; i < n; i++)
		is_kept[i] = !is_optional[i];
	result = count_passes(host, metrics, is_kept, n, kept, &passes, error);
	if (result)
		goto out;
	if (passes > 1) {
		result = etl_fail(error, E2BIG, "these metrics need %u passes; samples have one",
				  passes);
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		if (!is_optional[i])
			continue;
		is_kept[i] = true;
		is_kept[i] = count_passes(host, metrics, is_kept, n, kept, &passes, NULL) == 0 &&
			     passes == 1;
	}
out:
	free(kept);
	return result;
}

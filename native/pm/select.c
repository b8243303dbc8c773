/* Which optional metrics a device has, and has room for in one pass. */
#include <errno.h>
#include <stdlib.h>

#include "pm/select.h"

/* In how many passes the kept ones are counted. */
static int count_passes(struct pm_host *host, const char *const *metrics, const bool *is_kept,
			size_t n, const char **kept, unsigned *passes, struct etl_error *error)
{
	uint8_t *image;
	size_t bytes, count = 0;
	int result;

	for (size_t i = 0; i < n; i++)
		if (is_kept[i])
			kept[count++] = metrics[i];
	*passes = 0;
	if (count == 0)
		return 0;
	result = pm_host_config(host, kept, count, &image, &bytes, passes, error);
	free(image);
	return result;
}

int pm_host_select(struct pm_host *host, const char *const *metrics, const bool *is_optional,
		   size_t n, bool *is_kept, struct etl_error *error)
{
	const char **kept = calloc(n ? n : 1, sizeof *kept);
	unsigned passes;
	int result;

	if (!kept)
		return etl_fail(error, ENOMEM, "no memory for %zu metrics", n);
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

/* What a join says of each group of work, after the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "queries/overlap.h"

static int write_fit(struct fit *fit, const struct device *device, size_t metrics,
		     double *about, double *levels, double *variances)
{
	size_t groups = (size_t)device->groups;
	size_t fitted = groups < FIT_GROUPS ? groups : FIT_GROUPS;
	struct fit_group *of = calloc(fitted, sizeof *of);
	int error = of ? fit_solve(fit, of, levels, variances) : -ENOMEM;

	for (size_t g = 0; !error && g < groups; g++) {
		/* The last of many is a mixture of those with least time. */
		bool is_own = g < fitted && (g + 1 < FIT_GROUPS || groups <= FIT_GROUPS);

		about[g] = is_own ? of[g].weight : 0;
		about[groups + g] = is_own ? of[g].inflation : 0;
		about[2 * groups + g] = is_own ? of[g].blocks : 0;
		for (size_t m = 0; m < metrics; m++)
			if (!is_own || !(of[g].weight > 0) || !device->is_known[m]) {
				levels[g * metrics + m] = __builtin_nan("");
				variances[g * metrics + m] = __builtin_nan("");
			}
	}
	free(of);
	return error;
}

int etl_overlap_totals(struct etl_overlap *join, int device_at, int64_t *counts, double *fits,
		       double *planes)
{
	struct device *device = &join->device[device_at];
	size_t groups = (size_t)device->groups, metrics = (size_t)join->metrics;
	size_t plane = groups * metrics;
	int error;

	memcpy(counts, device->counts, groups * ETL_OVERLAP_COUNTS * sizeof *counts);
	memcpy(planes, device->planes, plane * 5 * sizeof *planes);
	error = write_fit(device->exclusive, device, metrics, fits, planes + 5 * plane,
			  planes + 6 * plane);
	if (error)
		return error;
	return write_fit(device->additive, device, metrics, fits + 3 * groups,
			 planes + 7 * plane, planes + 8 * plane);
}

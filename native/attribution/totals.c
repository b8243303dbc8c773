/* What a join says of each group of work, after the end. */
#include <string.h>

#include "attribution/share.h"

enum { ABOUT = 7, LEVELS = 7 };

/* Where a fit is that is not, there is no level: NaN. */
static void blank(const struct device *device, size_t metrics, const double *weight,
		  double *levels, double *others)
{
	size_t groups = (size_t)device->groups;

	for (size_t i = 0; i < groups * metrics; i++) {
		size_t g = i / metrics;
		/* The last of many is a mixture of those with least time. */
		bool is_own = g + 1 < FIT_GROUPS || (g < FIT_GROUPS && groups <= FIT_GROUPS);

		if (!is_own || !(weight[g] > 0) || !device->is_known[i % metrics])
			levels[i] = others[i] = __builtin_nan("");
	}
}

int etl_overlap_totals(struct etl_overlap *join, int device_at, int64_t *counts, double *fits,
		       double *planes)
{
	struct device *device = &join->device[device_at];
	size_t groups = (size_t)device->groups, metrics = (size_t)join->metrics;
	size_t plane = groups * metrics;
	double *levels = planes + OVERLAP_SUMS * plane;
	const struct shared out = {
		.alone_weight = fits,
		.alone_inflation = fits + groups,
		.alone_blocks = fits + 2 * groups,
		.weight = fits + 3 * groups,
		.inflation = fits + 4 * groups,
		.blocks = fits + 5 * groups,
		.unknown = fits + 6 * groups,
		.alone = levels,
		.alone_variance = levels + plane,
		.additive = levels + 2 * plane,
		.additive_variance = levels + 3 * plane,
		.shared = levels + 4 * plane,
		.shared_variance = levels + 5 * plane,
		.spread = levels + 6 * plane,
	};
	int error;

	memcpy(counts, device->counts, groups * (ETL_OVERLAP_COUNTS - 1) * sizeof *counts);
	memcpy(counts + groups * (ETL_OVERLAP_COUNTS - 1), device->held, groups * sizeof *counts);
	memcpy(planes, device->planes, plane * OVERLAP_SUMS * sizeof *planes);
	memset(fits, 0, groups * ABOUT * sizeof *fits);
	memset(levels, 0, plane * LEVELS * sizeof *levels);
	error = share_out(device, join->metrics, join->is_union, &out);
	if (error)
		return error;
	if (groups > FIT_GROUPS)
		counts[groups * (ETL_OVERLAP_COUNTS - 1) + FIT_GROUPS - 1] = 0;
	for (size_t g = FIT_GROUPS - 1; groups > FIT_GROUPS && g < groups; g++)
		for (size_t i = 0; i < ABOUT; i++)
			fits[i * groups + g] = 0;
	blank(device, metrics, out.alone_weight, out.alone, out.alone_variance);
	blank(device, metrics, out.weight, out.additive, out.additive_variance);
	blank(device, metrics, out.weight, out.shared, out.shared_variance);
	return 0;
}

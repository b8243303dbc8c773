/* What of the value belongs to whom: by a fit in which what runs at once adds up, and by one in
 * which each set of groups that run together has a level of its own.
 *
 * The second takes nothing for granted of how such a level comes about.  It is shared out among
 * the set in proportion to the levels that its groups have alone; how far that may be off is
 * said too, under the one assumption that nothing does more beside others than alone, but for
 * what is seen beyond the sum of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attribution/share.h"
#include "attribution/view.h"

/* A set has a level of its own if it is so much of the time of one of its groups. */
#define LEAST_TIME 0.01
/* Levels alone add up if their sum is nearer to what is seen than so many errors, or so much. */
#define ERRORS 3
#define NEAR 0.02
/* From so much of the most that is seen on, what comes on top may not show. */
#define FULL 0.8

/* A set of groups, each once. */
struct parts {
	int n, groups[STATE_MEMBERS];
	double count[STATE_MEMBERS], alone[STATE_MEMBERS];
	bool is_known[STATE_MEMBERS];
	double sum; /* of those that are known */
	int unknown;
};

enum mode { IN_PROPORTION, THE_REST, THE_MIDDLE };

static double more_of(double one, double other)
{
	return one > other ? one : other;
}

static double less_of(double one, double other)
{
	return one < other ? one : other;
}

/* ---- sets of groups */

static struct parts parts_of(const struct view *view, const struct state *state,
			     const double *levels, size_t metric)
{
	struct parts parts = {0};

	for (int32_t i = 0; i < state->n; i++) {
		int group = state->members[i], at = parts.n - 1;

		if (at < 0 || parts.groups[at] != group) {
			at = parts.n++;
			parts.groups[at] = group;
			parts.is_known[at] = view->is_known[group];
			parts.unknown += !parts.is_known[at];
		}
		parts.count[at]++;
	}
	for (int i = 0; i < parts.n; i++) {
		double level = view_level(view, levels, parts.groups[i], metric);

		parts.alone[i] = parts.is_known[i] ? parts.count[i] * more_of(level, 0) : 0;
		parts.sum += parts.alone[i];
	}
	return parts;
}

/* How the groups of a set share what is `seen` of them. */
static void split(const struct parts *parts, enum mode mode, double seen, double *out)
{
	double count = 0, known;

	for (int i = 0; i < parts->n; i++)
		if (!parts->is_known[i] || !parts->unknown)
			count += parts->count[i];
	if (mode == IN_PROPORTION)
		known = parts->unknown || !(parts->sum > 0) ? 0 : seen;
	else
		known = less_of(parts->sum, more_of(seen, 0)) * (mode == THE_REST ? 1 : 0.5);
	for (int i = 0; i < parts->n; i++) {
		out[i] = parts->sum > 0 ? known * parts->alone[i] / parts->sum : 0;
		if (!parts->is_known[i] || !parts->unknown)
			out[i] += (seen - (parts->sum > 0 ? known : 0)) * parts->count[i] / count;
	}
}

static double within(double value, double most)
{
	return less_of(more_of(value, 0), most);
}

/* How far from `taken` the share of part `at` may be. */
static double doubt(const struct parts *parts, enum mode mode, bool adds_up, double seen, int at,
		    double taken)
{
	double most = more_of(seen, 0), rest = seen - (parts->sum - parts->alone[at]);

	if (parts->n == 1)
		return 0;
	if (mode == THE_REST)
		return __builtin_fabs(seen - parts->sum) / 2;
	if (mode == THE_MIDDLE)
		return (parts->is_known[at]   ? less_of(parts->alone[at], most)
			: parts->unknown == 1 ? less_of(parts->sum, most)
					      : most) /
		       2;
	if (adds_up)
		return 0;
	return more_of(within(more_of(parts->alone[at], rest), most) - taken,
		       taken - within(less_of(parts->alone[at], rest), most));
}

/* How a set shares, and whether its groups add up to what is seen. */
static enum mode mode_of(const struct view *view, const struct state *state, int term,
			 size_t metric, double most, bool *adds_up)
{
	const double *levels = view->solution.levels;
	struct parts parts = parts_of(view, state, levels, metric);
	double seen = view_level(view, levels, term, metric);
	double blocks = view->solution.blocks[view->column[term]];
	double apart = __builtin_fabs(seen - parts.sum), variance = 0;
	bool is_within;

	for (int b = 0; b < FIT_BLOCKS; b++) {
		const double *by = view_moved(view, b);
		double moved = view_level(view, by, term, metric);

		for (int i = 0; i < parts.n; i++)
			if (parts.is_known[i])
				moved -= parts.count[i] *
					 view_level(view, by, parts.groups[i], metric);
		variance += moved * moved;
	}
	is_within = blocks >= 3 && apart * apart <= ERRORS * ERRORS * variance * of_few_blocks(blocks);
	*adds_up = is_within || apart <= NEAR * more_of(seen, parts.sum);
	if (!parts.unknown || parts.n == 1)
		return IN_PROPORTION;
	/* That a group which is not known does much, and slows the others by just as much, would
	 * be chance, unless there is no room for more or what several do counts once. */
	if (!view->is_union[metric] && parts.sum > 0 && parts.sum < FULL * most &&
	    apart <= parts.sum * (is_within ? 5 * NEAR : NEAR))
		return THE_REST;
	return THE_MIDDLE;
}

/* ---- what a group does in all its time */

struct sharing {
	const struct view *view;
	const double *ns; /* by term */
	double *whole, *unknown; /* by group: run time in samples; of that, where nothing is known */
	double *beside; /* by group: time in sets without a term of their own */
	uint8_t *modes, *adds_up; /* by state and metric */
};

/* The largest level of a group or set. */
static double most_of(const struct view *view, size_t metric)
{
	double most = 0;

	for (int t = 0; t < FIT_TERMS; t++)
		if (view->is_known[t] && (t < FIT_GROUPS || t >= FIT_SETS))
			most = more_of(most, view_level(view, view->solution.levels, t, metric));
	return most;
}

static bool has_level(const struct view *view, int state)
{
	return view->is_kept[state] && view->is_known[FIT_SETS + state];
}

static void sum_times(struct sharing *of)
{
	const struct view *view = of->view;
	const struct states *states = view->device->states;

	for (int g = 0; g < view->device->fitted; g++)
		of->beside[g] = of->ns[FIT_BESIDE + g];
	for (int s = 0; s < states->n; s++)
		for (int32_t i = 0; i < states->state[s].n; i++) {
			int group = states->state[s].members[i];
			double ns = of->ns[FIT_SETS + s];

			if (!view->is_kept[s]) {
				of->beside[group] += ns;
				continue;
			}
			of->whole[group] += ns;
			of->unknown[group] += has_level(view, s) ? 0 : ns;
		}
	for (int g = 0; g < view->device->fitted; g++) {
		of->whole[g] += of->ns[g] + of->beside[g];
		of->unknown[g] += view->is_apart[g] ? 0 : of->ns[g];
		/* Without a level alone nothing says whether that beside others is its own. */
		if (!view->is_known[g] || !view->is_known[FIT_BESIDE + g])
			of->unknown[g] += of->beside[g];
	}
}

static bool is_beside_known(const struct view *view, int group)
{
	return view->is_known[group] && view->is_known[FIT_BESIDE + group];
}

/* Level times ns of each group, where it is known; `out` is groups x metrics, all 0. */
static void sum_levels(const struct sharing *of, const double *levels, double *out)
{
	const struct view *view = of->view;
	const struct states *states = view->device->states;
	size_t metrics = view->metrics;

	for (int g = 0; g < view->device->fitted; g++)
		for (size_t m = 0; m < metrics; m++) {
			double *cell = out + (size_t)g * metrics + m;

			if (view->is_apart[g])
				*cell += of->ns[g] * view_level(view, levels, g, m);
			if (is_beside_known(view, g))
				*cell += of->beside[g] * view_level(view, levels, FIT_BESIDE + g, m);
		}
	for (int s = 0; s < states->n; s++)
		for (size_t m = 0; has_level(view, s) && m < metrics; m++) {
			struct parts parts = parts_of(view, &states->state[s], levels, m);
			double each[STATE_MEMBERS];

			split(&parts, (enum mode)of->modes[(size_t)s * metrics + m],
			      view_level(view, levels, FIT_SETS + s, m), each);
			for (int i = 0; i < parts.n; i++)
				out[(size_t)parts.groups[i] * metrics + m] +=
					of->ns[FIT_SETS + s] * each[i];
		}
}

static void sum_doubts(const struct sharing *of, double *out)
{
	const struct view *view = of->view;
	const struct states *states = view->device->states;
	const double *levels = view->solution.levels;
	size_t metrics = view->metrics;

	for (int g = 0; g < view->device->fitted; g++)
		for (size_t m = 0; is_beside_known(view, g) && m < metrics; m++)
			out[(size_t)g * metrics + m] +=
				of->beside[g] *
				__builtin_fabs(view_level(view, levels, FIT_BESIDE + g, m) -
					       view_level(view, levels, g, m));
	for (int s = 0; s < states->n; s++)
		for (size_t m = 0; has_level(view, s) && m < metrics; m++) {
			struct parts parts = parts_of(view, &states->state[s], levels, m);
			size_t at = (size_t)s * metrics + m;
			enum mode mode = (enum mode)of->modes[at];
			double seen = view_level(view, levels, FIT_SETS + s, m);
			double each[STATE_MEMBERS];

			split(&parts, mode, seen, each);
			for (int i = 0; i < parts.n; i++)
				out[(size_t)parts.groups[i] * metrics + m] +=
					of->ns[FIT_SETS + s] *
					doubt(&parts, mode, of->adds_up[at], seen, i, each[i]);
		}
}

static void write_shared(const struct sharing *of, const struct shared *out, double *base,
			 double *moved)
{
	const struct view *view = of->view;
	size_t metrics = view->metrics, groups = (size_t)view->device->fitted;
	const double *levels = view->solution.levels;
	double *summed = moved + (size_t)view->solution.columns * metrics;

	sum_levels(of, levels, base);
	sum_doubts(of, out->spread);
	for (size_t i = 0; i < groups * metrics; i++) {
		int g = (int)(i / metrics);
		double known = of->whole[g] - of->unknown[g];

		out->unknown[g] = of->whole[g] > 0 ? of->unknown[g] / of->whole[g] : 1;
		out->spread[i] /= known > 0 ? known : 1;
		out->shared[i] = known > 0 ? base[i] / known + view_edges(view, levels, g, i % metrics)
					   : __builtin_nan("");
	}
	for (int b = 0; b < FIT_BLOCKS; b++) {
		const double *by = view_moved(view, b);

		for (size_t i = 0; i < (size_t)view->solution.columns * metrics; i++)
			moved[i] = levels[i] + by[i];
		memset(summed, 0, groups * metrics * sizeof *summed);
		sum_levels(of, moved, summed);
		for (size_t i = 0; i < groups * metrics; i++) {
			int g = (int)(i / metrics);
			double known = of->whole[g] - of->unknown[g];
			double step = view_edges(view, by, g, i % metrics);

			step += known > 0 ? (summed[i] - base[i]) / known : 0;
			out->shared_variance[i] += step * step * of_few_blocks(out->blocks[g]);
		}
	}
}

static int share_sets(struct view *view, const double *ns, const struct shared *out)
{
	size_t metrics = view->metrics, groups = (size_t)view->device->fitted;
	size_t sets = (size_t)view->device->states->n, cells = groups * metrics;
	double *times = calloc(3 * groups + 1, sizeof *times);
	double *base = calloc(2 * cells + (size_t)view->solution.columns * metrics + 1,
			      sizeof *base);
	uint8_t *modes = calloc(2 * sets * metrics + 1, 1);
	struct sharing of = {view, ns, times, times + groups, times + 2 * groups, modes,
			     modes + sets * metrics};
	int error = times && base && modes ? view_judge(view, out->alone_inflation) : -ENOMEM;

	if (!error) {
		for (size_t m = 0; m < metrics; m++)
			base[m] = most_of(view, m);
		for (size_t i = 0; i < sets * metrics; i++) {
			int s = (int)(i / metrics);
			bool adds_up = true;

			if (has_level(view, s))
				of.modes[i] = (uint8_t)mode_of(
					view, &view->device->states->state[s], FIT_SETS + s,
					i % metrics, base[i % metrics], &adds_up);
			of.adds_up[i] = adds_up;
		}
		memset(base, 0, metrics * sizeof *base);
		sum_times(&of);
		write_shared(&of, out, base, base + cells);
	}
	free(times);
	free(base);
	free(modes);
	return error;
}

/* Which sets have a level of their own: of others only the mean over them counts. */
static int keep_sets(const struct device *device, const double *ns, const double *weight,
		     const double *blocks, bool *is_kept)
{
	const struct states *states = device->states;
	double *whole = calloc((size_t)device->fitted, sizeof *whole);

	if (!whole)
		return -ENOMEM;
	for (int g = 0; g < device->fitted; g++)
		whole[g] = ns[g] + ns[FIT_BESIDE + g];
	for (int s = 0; s < states->n; s++)
		for (int32_t i = 0; i < states->state[s].n; i++)
			whole[states->state[s].members[i]] += ns[FIT_SETS + s];
	for (int s = 0; s < states->n; s++) {
		int term = FIT_SETS + s;
		bool is_told = weight[term] >= LEAST_WEIGHT || blocks[term] >= LEAST_BLOCKS;

		for (int32_t i = 0; is_told && i < states->state[s].n; i++)
			if (ns[term] >= LEAST_TIME * whole[states->state[s].members[i]])
				is_kept[s] = true;
	}
	free(whole);
	return 0;
}

int share_out(const struct device *device, int metrics, const uint8_t *is_union,
	      const struct shared *out)
{
	double *terms = calloc(3 * FIT_TERMS, sizeof *terms);
	double *ns = terms, *weight = terms + FIT_TERMS, *blocks = weight + FIT_TERMS;
	bool is_kept[FIT_STATES] = {false};
	struct view additive = {device, (size_t)metrics, is_union, .is_additive = true};
	struct view sets = {device, (size_t)metrics, is_union, .is_kept = is_kept};
	int error = terms ? fit_terms(device->fit, ns, weight, blocks) : -ENOMEM;

	error = error ? error : keep_sets(device, ns, weight, blocks, is_kept);
	error = error ? error : view_make(&additive, weight);
	error = error ? error
		      : view_groups(&additive, out->weight, out->inflation, out->blocks,
				     out->additive, out->additive_variance);
	error = error ? error : view_make(&sets, weight);
	error = error ? error
		      : view_groups(&sets, out->alone_weight, out->alone_inflation,
				     out->alone_blocks, out->alone, out->alone_variance);
	error = error ? error : share_sets(&sets, ns, out);
	view_free(&additive);
	view_free(&sets);
	free(terms);
	return error;
}

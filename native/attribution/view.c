
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attribution/view.h"

/* ---- designs */

/* The terms whose levels add up to that of `term`. */
static int targets(const struct view *view, int term, int32_t *out)
{
	const struct state *state;
	int32_t base = view->is_additive ? 0 : FIT_BESIDE;

	out[0] = term;
	if (term >= FIT_BESIDE && term < FIT_SETS)
		out[0] = term - FIT_BESIDE + base;
	if (term < FIT_SETS || (!view->is_additive && view->is_kept[term - FIT_SETS]))
		return 1;
	state = &view->device->states->state[term - FIT_SETS];
	for (int32_t i = 0; i < state->n; i++)
		out[i] = state->members[i] + base;
	return state->n;
}

static void design_fill(struct view *view, const double *weight)
{
	struct fit_design *design = &view->design;
	int32_t found[STATE_MEMBERS], at = 0;

	for (int t = 0; t < FIT_TERMS; t++)
		view->column[t] = -1;
	for (int t = 0; t < FIT_TERMS; t++) {
		int n = weight[t] > 0 ? targets(view, t, found) : 0;

		for (int i = 0; i < n; i++)
			view->column[found[i]] = 0;
	}
	for (int t = 0; t < FIT_TERMS; t++)
		if (view->column[t] == 0)
			view->column[t] = design->n++;
	for (int t = 0; t < FIT_TERMS; t++) {
		int n = weight[t] > 0 ? targets(view, t, found) : 0;

		design->first[t] = at;
		for (int i = 0; i < n; i++)
			design->columns[at++] = view->column[found[i]];
	}
	design->first[FIT_TERMS] = at;
}

void view_free(struct view *view)
{
	free(view->design.first);
	free(view->design.columns);
	free(view->column);
	free(view->is_known);
	free(view->is_apart);
	free(view->asked);
	fit_solution_free(&view->solution);
}

int view_make(struct view *view, const double *weight)
{
	view->design.first = calloc(FIT_TERMS + 1, sizeof *view->design.first);
	view->design.columns =
		calloc((size_t)FIT_TERMS * STATE_MEMBERS, sizeof *view->design.columns);
	view->column = calloc(FIT_TERMS, sizeof *view->column);
	view->is_known = calloc(FIT_TERMS, sizeof *view->is_known);
	view->is_apart = calloc(FIT_TERMS, sizeof *view->is_apart);
	view->asked = calloc(FIT_TERMS, sizeof *view->asked);
	if (!view->design.first || !view->design.columns || !view->column || !view->is_known ||
	    !view->is_apart || !view->asked)
		return -ENOMEM;
	design_fill(view, weight);
	return fit_solve(view->device->fit, &view->design, &view->solution);
}

/* ---- a group with its edges */

static void group_factors(void *of, int at, double *factors, size_t stride)
{
	const struct view *view = of;
	int group = view->asked[at];
	int32_t edge = view->device->edges[group];

	factors[(size_t)view->column[group] * stride] = 1;
	for (int32_t i = 0; edge && i < 2; i++)
		if (view->column[edge + i] >= 0)
			factors[(size_t)view->column[edge + i] * stride] =
				view->device->per_edge[group];
}

static void term_factor(void *of, int at, double *factors, size_t stride)
{
	const struct view *view = of;

	factors[(size_t)view->column[view->asked[at]] * stride] = 1;
}

double view_level(const struct view *view, const double *levels, int term, size_t metric)
{
	int32_t column = view->column[term];

	return column < 0 ? 0 : levels[(size_t)column * view->metrics + metric];
}

double view_edges(const struct view *view, const double *levels, int group, size_t metric)
{
	int32_t edge = view->device->edges[group];

	if (!edge)
		return 0;
	return view->device->per_edge[group] * (view_level(view, levels, edge, metric) +
						view_level(view, levels, edge + 1, metric));
}

const double *view_moved(const struct view *view, int block)
{
	size_t cells = (size_t)view->solution.columns * view->metrics;

	return view->solution.moved + (size_t)block * cells;
}

double of_few_blocks(double blocks)
{
	return blocks > 1 ? blocks / (blocks - 1) : 1;
}

int view_groups(struct view *view, double *weight, double *inflation, double *blocks,
			double *levels, double *variances)
{
	double *uncertain = calloc(FIT_TERMS, sizeof *uncertain);
	int n = 0, error = uncertain ? 0 : -ENOMEM;

	for (int g = 0; g < view->device->fitted; g++)
		if (view->column[g] >= 0)
			view->asked[n++] = g;
	error = error ? error
		      : fit_uncertainty(&view->solution, n, group_factors, view, uncertain);
	for (int i = 0; !error && i < n; i++) {
		int g = view->asked[i];
		size_t column = (size_t)view->column[g], at = (size_t)g * view->metrics;

		weight[g] = view->solution.weight[column];
		blocks[g] = view->solution.blocks[column];
		inflation[g] = weight[g] * uncertain[i];
		for (size_t m = 0; m < view->metrics; m++) {
			levels[at + m] = view_level(view, view->solution.levels, g, m) +
					 view_edges(view, view->solution.levels, g, m);
			for (int b = 0; b < FIT_BLOCKS; b++) {
				double moved = view_level(view, view_moved(view, b), g, m) +
					       view_edges(view, view_moved(view, b), g, m);

				variances[at + m] += moved * moved * of_few_blocks(blocks[g]);
			}
		}
	}
	free(uncertain);
	return error;
}

int view_judge(struct view *view, const double *inflation)
{
	double *uncertain = calloc(FIT_TERMS, sizeof *uncertain);
	int n = 0, error;

	for (int t = 0; t < FIT_TERMS; t++)
		if (view->column[t] >= 0 && (t < FIT_GROUPS || t >= FIT_BESIDE))
			view->asked[n++] = t;
	error = uncertain
			? fit_uncertainty(&view->solution, n, term_factor, view, uncertain)
			: -ENOMEM;
	for (int i = 0; !error && i < n; i++) {
		int term = view->asked[i];
		size_t column = (size_t)view->column[term];
		double weight = view->solution.weight[column];

		view->is_apart[term] =
			(term < FIT_GROUPS ? inflation[term] : weight * uncertain[i]) <=
			MOST_INFLATION;
		view->is_known[term] = weight * uncertain[i] <= MOST_INFLATION &&
				       (weight >= LEAST_WEIGHT ||
					view->solution.blocks[column] >= LEAST_BLOCKS);
	}
	free(uncertain);
	return error;
}

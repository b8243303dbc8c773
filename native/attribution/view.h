/* One design of the fit and its solution, by terms and groups. */
#pragma once

#include "attribution/overlap.h"

/* A level rests on so many samples' worth, or on so many blocks, and is told from others. */
#define LEAST_WEIGHT 3
#define LEAST_BLOCKS 10
#define MOST_INFLATION 100
/* One design and what it came to. */
struct view {
	const struct device *device;
	size_t metrics;
	const uint8_t *is_union;
	bool is_additive;
	const bool *is_kept; /* by state: it has a level of its own */
	struct fit_design design;
	struct fit_solution solution;
	int32_t *column; /* by term; -1: there is none */
	bool *is_known; /* by term: its level is */
	bool *is_apart; /* by term: its level is told from others, however little it rests on */
	int *asked; /* terms whose uncertainty is asked for */
};

/* NOMEM leaves what view_free takes. */
int view_make(struct view *view, const double *weight) ETL_MUST_CHECK;
void view_free(struct view *view);
/* The level of a term; 0: it has none. */
double view_level(const struct view *view, const double *levels, int term, size_t metric);
/* What the edges of a group add to the level of its runs. */
double view_edges(const struct view *view, const double *levels, int group, size_t metric);
/* How much a block moves each level. */
const double *view_moved(const struct view *view, int block);
/* From few blocks the variance between them comes out too small. */
double of_few_blocks(double blocks);
/* Levels of groups with their edges, and what they rest on. */
int view_groups(struct view *view, double *weight, double *inflation, double *blocks,
		double *levels, double *variances) ETL_MUST_CHECK;
/* Which levels of terms, groups without their edges, are known.  What a group does alone in all
 * is told from others with its edges. */
int view_judge(struct view *view, const double *inflation) ETL_MUST_CHECK;

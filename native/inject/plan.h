/* What is to be recorded, decided once, and the two ways to ask CUPTI for it. */
#pragma once

#include <stdbool.h>

#include "etl/kinds.h"
#include "etl/segment.h"
#include "etl/strings.h"
#include "inject/cupti_api.h"

/* The calls of one API. */
struct etl_api_plan {
	uint32_t kind, domain;
	bool is_asked_for;
	bool has_single; /* functions can be switched on without their kind */
	uint32_t n_wanted, n_unwanted; /* without unwanted ones all functions are, listed or not */
	uint32_t wanted[ETL_MAX_CBID], unwanted[ETL_MAX_CBID];
};

struct etl_planned {
	uint32_t activity;
	int table;
	bool is_lasting; /* recorded between windows too, see etl_kind */
	bool is_refused; /* CUPTI said no */
	int waits; /* for what CUPTI said why it cannot be yet; 0: it does not wait */
};

struct etl_plan {
	struct etl_planned kinds[ETL_N_KINDS * ETL_MAX_ACTIVITIES]; /* the two APIs not among them */
	uint32_t n;
	struct etl_api_plan api[2]; /* driver, runtime */
};

static inline bool etl_plan_has(const struct etl_plan *plan, uint32_t activity)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->kinds[i].activity == activity)
			return true;
	return false;
}

/* The activity kind that kernels are recorded by; 0 if they are not. */
static inline uint32_t etl_plan_kernels(const struct etl_plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->kinds[i].table == ETL_TABLE_KERNEL)
			return plan->kinds[i].activity;
	return 0;
}

/* Fixed records are whole structs of CUPTI's; selected ones hold only our columns.
 * Results are CUPTI's. */
struct etl_records {
	bool is_selected;
	/* Registers the callbacks. */
	int (*start)(const struct etl_plan *plan, struct etl_error *error);
	int (*kind)(const struct etl_planned *planned, bool on);
	int (*api)(const struct etl_api_plan *plan, bool on);
	int (*next)(uint8_t *buffer, size_t valid, uint8_t **record);
	size_t (*dropped)(void); /* since the last time */
	/* Lets go, once all kinds are switched off; NULL: there is nothing to let go of. */
	void (*stop)(void);
};

/* Whether a name is one of a list of them, which ends in NULL; an asterisk stands for any ending. */
bool etl_matches(const char *const *patterns, const char *name);
/* Of a name of CUPTI's, without the version of a signature that it may end in. */
size_t etl_bare_length(const char *name);
/* The name of the next function of the driver's, by callback id, that is one of a list; `cbid` is
 * that of the one before, 0 at first.  NULL behind the last. */
const char *etl_next_driver_call(const char *const *patterns, uint32_t *cbid);
/* Has a subscriber told of resources, whose callback ids are bits; 0, or what CUPTI says of one that
 * it does not tell of. */
int etl_resources_enable(void *subscriber, uint32_t ids);
static inline bool etl_resources_mean(uint32_t ids, uint32_t domain, uint32_t cbid)
{
	return domain == CUPTI_DOMAIN_RESOURCE && cbid < 32 && ids >> cbid & 1;
}
/* The driver's functions that launch, for somebody who does something where they begin. */
struct etl_launches {
	bool is_one[ETL_MAX_CBID]; /* by callback id */
	_Atomic bool is_over; /* nothing is done any more */
};

/* Has a subscriber told of them. */
void etl_launches_enable(struct etl_launches *launches, void *subscriber);
static inline bool etl_launches_mean(const struct etl_launches *launches, uint32_t cbid)
{
	return cbid < ETL_MAX_CBID && launches->is_one[cbid];
}
/* Calls `at` with the context where one of them begins; errno stays. */
void etl_launches_call(struct etl_launches *launches, uint32_t cbid, void *context,
		       void (*at)(void *context));
/* Decides, and publishes the names of the APIs' functions. */
void etl_plan_make(struct etl_plan *plan);

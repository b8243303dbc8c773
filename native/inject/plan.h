/* What is to be recorded, decided once, and the two ways to ask CUPTI for it. */
#ifndef ETL_PLAN_H
#define ETL_PLAN_H

#include "etl/strings.h"
#include "inject/inject.h"

enum {
	KIND_SERIAL_KERNEL = 3,
	KIND_DRIVER = 4,
	KIND_RUNTIME = 5,
	KIND_KERNEL = 10,
	KIND_UNIFIED_MEMORY = 25,
	KIND_CUDA_EVENT = 36,
	KIND_SYNCHRONIZATION = 38,
	KIND_MEMORY = 49,
	KIND_GRAPH = 51,
	KIND_DEVICE_GRAPH = 53,
};

/* The calls of one API. */
struct etl_api_plan {
	uint32_t kind, domain;
	bool is_asked_for;
	bool is_whole; /* all functions but `cbids`; else only `cbids` */
	uint32_t n;
	uint32_t cbids[ETL_MAX_CBID];
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

/* Decides, and publishes the names of the APIs' functions. */
void etl_plan_make(struct etl_plan *plan);

/* recording.c: whether the plan has an activity kind. */
bool etl_plan_has(uint32_t activity);

/* Fixed records are whole structs of CUPTI's; selected ones hold only our columns.
 * Results are CUPTI's. */
struct etl_records {
	int (*start)(struct etl_error *error); /* registers the callbacks */
	int (*kind)(const struct etl_planned *planned, bool on);
	int (*api)(const struct etl_api_plan *plan, bool on);
	int (*next)(uint8_t *buffer, size_t valid, uint8_t **record);
	size_t (*dropped)(void); /* since the last time */
};
extern const struct etl_records etl_fixed_records, etl_selected_records;
extern const struct etl_records *etl_records; /* what this process uses */
static inline bool etl_is_selected(void)
{
	return etl_records == &etl_selected_records;
}
/* selected.c: why selected records cannot be had here; NULL if they can. */
const char *etl_selected_obstacle(void);

/* fixed.c: the counters of unified memory are set up by one interface for both. */
int etl_configure_unified_memory(void);

/* clock.c: the clock of the process's records is ours from now on; and whether it still is.
 * Where CUPTI cannot tell, it is. */
void etl_clock_set(void);
bool etl_clock_is_ours(void);

/* conflict.c */
bool etl_conflict_is_lost(void); /* another client has the records */
bool etl_conflict_stands(void); /* one is there, and it is to win */
bool etl_conflict_fails(void); /* --on-conflict fail */
void etl_conflict_lost(int64_t since_ns);
/* Kernels are recorded for as long as somebody profiles: CUPTI then refuses to record them in
 * its other way, one after the other.  Where it does not, that is switched off at once, and
 * the answer is CUPTI_OK.  Nobody may switch kinds of ours meanwhile. */
int etl_conflict_ask_about_kernels(void);
/* Notices that another came, and comes back if it has left.  Called by the timer thread alone. */
void etl_conflict_look(void);

/* takeover_probe.c: adds the probe's call to the plan. */
void etl_takeover_probe_plan(struct etl_plan *plan);

#endif

/* Source of names, numbers and layouts: NVIDIA's public nccl repository, interface versions 4 to
 * 7, of NCCL 2.27, 2.28, 2.29 and 2.31.  They differ in the order of init()'s arguments and in the
 * width of an event's type; what 7 adds comes after what there was.  A later NCCL that does not find
 * its own version takes the newest of these. */
#include <stdlib.h>
#include <string.h>

#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/nccl_rows.h"
#include "../generated/env.h"

#define ETL_EXPORT __attribute__((visibility("default")))

static int end(void *context)
{
	free(context);
	etl_nccl_flush();
	return 0;
}

static int begin(void **context, int *mask, uint16_t version, uint64_t id, const char *name,
		 int ranks, int rank)
{
	const char *wanted = etl_env(ETL_ENV_NCCL);
	struct etl_nccl_communicator *of;

	*mask = 0;
	*context = NULL;
	if (!wanted || !etl_injector_is_ours() || !etl_peek(&etl_injector.active))
		return 0;
	of = calloc(1, sizeof *of);
	if (!of)
		return 0;
	*of = (struct etl_nccl_communicator){
		.id = id, .rank = rank, .ranks = ranks, .version = version
	};
	if (name)
		memcpy(of->name, name, strnlen(name, sizeof of->name));
	*mask = ETL_NCCL_GROUP | ETL_NCCL_COLL | ETL_NCCL_P2P_TASK;
	if (version >= 5)
		*mask |= ETL_NCCL_COLL_API | ETL_NCCL_P2P_API | ETL_NCCL_KERNEL_LAUNCH;
	if (version >= 6)
		*mask |= ETL_NCCL_COPY_COLL;
	if (etl_list_has(wanted, "channels")) {
		*mask |= ETL_NCCL_KERNEL_CHANNEL;
		if (version >= 7)
			*mask |= ETL_NCCL_KERNEL_PHASE;
	}
	*context = of;
	return 0;
}

static int begin_4(void **context, int *mask, const char *name, uint64_t id, int nodes, int ranks,
		   int rank, void *log)
{
	(void)nodes, (void)log;
	return begin(context, mask, 4, id, name, ranks, rank);
}

#define BEGIN(VERSION)                                                                             \
	static int begin_##VERSION(void **context, uint64_t id, int *mask, const char *name,       \
				   int nodes, int ranks, int rank, void *log)                      \
	{                                                                                          \
		(void)nodes, (void)log;                                                            \
		return begin(context, mask, VERSION, id, name, ranks, rank);                       \
	}

BEGIN(5)
BEGIN(6)
BEGIN(7)

/* An NCCL that has no later version tells of no operations that could be told apart. */
static int refuse(void **context, int *mask, uint16_t version)
{
	*mask = 0;
	*context = NULL;
	if (etl_env(ETL_ENV_NCCL) && etl_injector_is_ours() && etl_peek(&etl_injector.active))
		etl_put(&etl_injector.map.segment->counters.nccl_too_old, version);
	return 0;
}

#define REFUSE(VERSION)                                                                            \
	static int begin_##VERSION(void **context, int *mask)                                      \
	{                                                                                          \
		return refuse(context, mask, VERSION);                                             \
	}

REFUSE(1)
REFUSE(2)
REFUSE(3)

typedef int begin_later(void **, uint64_t, int *, const char *, int, int, int, void *);

struct calls {
	int (*start)(void *, void **, const void *);
	int (*stop)(void *);
	int (*state)(void *, int, const void *);
	int (*end)(void *);
};

struct plugin_old {
	const char *name;
	int (*begin)(void **, int *);
	struct calls calls;
};

struct plugin_4 {
	const char *name;
	int (*begin)(void **, int *, const char *, uint64_t, int, int, int, void *);
	struct calls calls;
};

struct plugin_5 {
	const char *name;
	begin_later *begin;
	struct calls calls;
};

ETL_EXPORT extern const struct plugin_old ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
ETL_EXPORT extern const struct plugin_4 ncclProfiler_v4;
ETL_EXPORT extern const struct plugin_5 ncclProfiler_v5, ncclProfiler_v6, ncclProfiler_v7;

#define CALLS { etl_nccl_start, etl_nccl_stop, etl_nccl_state, end }
const struct plugin_old ncclProfiler_v1 = { "cupti-etl", begin_1, CALLS };
const struct plugin_old ncclProfiler_v2 = { "cupti-etl", begin_2, CALLS };
const struct plugin_old ncclProfiler_v3 = { "cupti-etl", begin_3, CALLS };
const struct plugin_4 ncclProfiler_v4 = { "cupti-etl", begin_4, CALLS };
const struct plugin_5 ncclProfiler_v5 = { "cupti-etl", begin_5, CALLS };
const struct plugin_5 ncclProfiler_v6 = { "cupti-etl", begin_6, CALLS };
const struct plugin_5 ncclProfiler_v7 = { "cupti-etl", begin_7, CALLS };

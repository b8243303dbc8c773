/* What others call: the CUDA driver, NVTX, and a Python program from inside. */
#include "etl/inside.h"
#include "inject/callback_watch.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/nvtx_table.h"
#include "inject/session.h"
#include "../generated/env.h"

#define ETL_EXPORT __attribute__((visibility("default")))

ETL_EXPORT int InitializeInjection(void);
ETL_EXPORT int InitializeInjectionNvtx2(void *get_export_table);

/* Called by the CUDA driver inside cuInit, for CUDA_INJECTION64_PATH. */
int InitializeInjection(void)
{
	struct etl_error error;

	(void)etl_session_begin(false, &error); /* the collector knows */
	return 1;
}

/* Called by NVTX at its first use, for NVTX_INJECTION64_PATH; may come before cuInit.
 * CUPTI does the work; ours is that both entries meet the same libcupti, and when it begins. */
int InitializeInjectionNvtx2(void *get_export_table)
{
	struct etl_error error;

	if (!etl_env(ETL_ENV_SOCKET) && !etl_watch_any())
		return 0;
	if (etl_session_load_cupti(&error) < 0 || !etl_injector.cupti.nvtx_initialize2)
		return 0;
	return etl_nvtx_initialize(get_export_table);
}

int cupti_etl_begin(struct etl_error *error)
{
	return etl_session_begin(true, error);
}

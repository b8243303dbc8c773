/* Ranges that are written from here, as a program that uses NVTX writes its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum etl_domain {
	ETL_PYTORCH_OPERATOR,
	ETL_PYTORCH_BACKWARD,
	ETL_PYTORCH_ANNOTATION,
	ETL_PYTORCH_MODULE,
	ETL_N_DOMAINS,
};

/* Asks CUPTI for its functions, once; false if it has none. */
bool etl_nvtx_client_open(void);
/* Opens a range of the calling thread. */
void etl_nvtx_client_push(enum etl_domain domain, const char *text, size_t length, int64_t payload);
/* Closes the last one of the domain. */
void etl_nvtx_client_pop(enum etl_domain domain);

/* Made by `python -m cupti_etl.schema.generate`.  Do not edit. */
#ifndef ETL_ENV_H
#define ETL_ENV_H

#define ETL_ENV_SOCKET "CUPTI_ETL_SOCKET"
#define ETL_ENV_KINDS "CUPTI_ETL_KINDS"
#define ETL_ENV_API "CUPTI_ETL_API"
#define ETL_ENV_FLUSH_MS "CUPTI_ETL_FLUSH_MS"
#define ETL_ENV_RING_MB "CUPTI_ETL_RING_MB"
#define ETL_ENV_CUPTI "CUPTI_ETL_CUPTI"
#define ETL_ENV_CUPTI_SEARCH "CUPTI_ETL_CUPTI_SEARCH"
#define ETL_ENV_NO_ARGV "CUPTI_ETL_NO_ARGV"

#endif

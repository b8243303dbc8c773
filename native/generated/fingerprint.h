/* Made by `python -m cupti_etl.schema.generate`.  Do not edit. */
#ifndef ETL_FINGERPRINT
#define ETL_FINGERPRINT UINT64_C(0xa05fcaf0d555ad99)
#endif

/* Made by `python -m cupti_etl.schema.generate`.  Do not edit. */
#ifndef ETL_FINGERPRINT
#define ETL_FINGERPRINT UINT64_C(0xf0af2e188095a90b)
#endif

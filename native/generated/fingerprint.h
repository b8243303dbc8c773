/* Made by `python -m tools.codegen`.  Do not edit. */
#ifndef ETL_FINGERPRINT
#define ETL_FINGERPRINT UINT64_C(0x945a57e1d6d97be4)
#endif

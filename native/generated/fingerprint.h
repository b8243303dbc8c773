/* Made by `python -m tools.codegen`.  Do not edit. */
#ifndef ETL_FINGERPRINT
#define ETL_FINGERPRINT UINT64_C(0x08d0e1add24d9d2b)
#endif

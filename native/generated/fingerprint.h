/* Made by `python -m tools.codegen`.  Do not edit. */
#ifndef ETL_FINGERPRINT
#define ETL_FINGERPRINT UINT64_C(0xa0870dfaae4c6cc7)
#endif

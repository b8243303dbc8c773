/* Made by `python -m tools.codegen`.  Do not edit. */
#ifndef ETL_FINGERPRINT
#define ETL_FINGERPRINT UINT64_C(0x3de3b042352defae)
#endif

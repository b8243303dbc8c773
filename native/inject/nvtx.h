#pragma once

#include <stdint.h>

typedef void (*etl_nvtx_function)(void);
typedef _Atomic(etl_nvtx_function) etl_nvtx_slot;

/* --capture-range nvtx:NAME[@DOMAIN]: where CUPTI's function for this pointer of NVTX's is to be.
 * That is the pointer itself, unless a function of ours stands there: it is put there then. */
etl_nvtx_slot *etl_nvtx_slot_of(uint32_t module, unsigned id, etl_nvtx_function *pointer);

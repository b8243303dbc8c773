/* The program's NVTX functions, as the public headers define them in every program. */
#ifndef FAKE_PROGRAM_NVTX_H
#define FAKE_PROGRAM_NVTX_H

#include "fake_nvtx.h"

#define NVTX_DECLARE(number, name, result, parameters, arguments) result nvtx##name parameters;
NVTX_CORE_FUNCTIONS(NVTX_DECLARE)
NVTX_CORE2_FUNCTIONS(NVTX_DECLARE)

#endif

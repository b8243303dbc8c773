/* Included before every source file (see native/build.py).
 *
 * The traced program may run on an older system than the one we were built on: a wheel
 * made on a workstation goes to a cluster.  glibc 2.34 moved these functions into libc
 * under a new version, which a program on 2.28 could not resolve, and CUDA skips a
 * library that does not load without a word.  So the old versions are asked for; every
 * later glibc still has them. */
#pragma once

#include <features.h>

/* From 2.38 on, strtoll() and sscanf() have other names, which read 0b1 as well. */
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0

#if defined(__GLIBC__) && defined(__x86_64__)
#define ETL_OLD(function, version) \
	__asm__(".symver " #function ", " #function "@GLIBC_" version)
ETL_OLD(dlopen, "2.2.5");
ETL_OLD(dlsym, "2.2.5");
ETL_OLD(dlclose, "2.2.5");
ETL_OLD(dlerror, "2.2.5");
ETL_OLD(dladdr, "2.2.5");
ETL_OLD(dlinfo, "2.3.3");
ETL_OLD(pthread_create, "2.2.5");
ETL_OLD(pthread_join, "2.2.5");
ETL_OLD(pthread_mutex_trylock, "2.2.5");
ETL_OLD(pthread_once, "2.2.5");
ETL_OLD(pthread_sigmask, "2.2.5");
ETL_OLD(pthread_condattr_setclock, "2.3.3");
ETL_OLD(pthread_setname_np, "2.12");
ETL_OLD(pthread_timedjoin_np, "2.3.3");
#undef ETL_OLD
#endif

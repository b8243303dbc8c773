/* The one message a traced process sends, with the segment's descriptor attached. */
#pragma once

#include <stdint.h>

/* cffi: begin */
#define ETL_HELLO_MAGIC 0x314f4c4c45484c45
#define ETL_HELLO_VERSION 1

struct etl_hello {
	uint64_t magic;
	uint32_t version;
	int32_t pid;
	char reason[512]; /* why no segment comes with it; empty if one does */
};
/* cffi: end */

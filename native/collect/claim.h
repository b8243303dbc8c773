#ifndef ETL_COLLECT_CLAIM_H
#define ETL_COLLECT_CLAIM_H

#include "decode/process.h"

/* Lets another collector have the segment. */
void process_unlock(struct etl_process *process);

#endif

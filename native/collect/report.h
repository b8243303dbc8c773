#ifndef ETL_COLLECT_REPORT_H
#define ETL_COLLECT_REPORT_H

#include "decode/process.h"

/* Slots that CUPTI holds, and since when the first of them. */
void process_count_held(const struct etl_process *process, uint64_t *held, int64_t *first);

#endif

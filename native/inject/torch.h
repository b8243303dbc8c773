/* --pytorch: operators and modules of PyTorch as ranges; see torch.c. */
#pragma once

#include <stdint.h>

#include "etl/inside.h"

/* Finds PyTorch's library in this process and begins to look at how its objects lie. */
int etl_torch_open(const char *library, struct etl_error *error);
/* The sequence number of the operator that this thread ran last, which had one input. */
void etl_torch_probe(int64_t sequence);
/* From now on, what is meant is ranges in sessions; of operators, after having looked.
 * -ENOTSUP: this PyTorch is not as it is known. */
int etl_torch_observe(int what, struct etl_error *error);
/* Why this process has no ranges of PyTorch, for the collector. */
void etl_torch_note(const char *text);
void etl_torch_module_push(const char *text);
void etl_torch_module_pop(void);

/* A session begins, or is over. */
void etl_torch_begin(void);
void etl_torch_end(void);
/* Before the last word of a session. */
void etl_torch_finish(void);

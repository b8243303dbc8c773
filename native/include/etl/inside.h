/* What the injected library offers to a Python program that it is loaded in. */
#pragma once

#include <stdint.h>

#include "etl/error.h"

#pragma GCC visibility push(default)
/* cffi: begin */
/* Begins to record for the collector that the environment names.  0 or -errno. */
int cupti_etl_begin(struct etl_error *error);
/* Hands over all records and lets go of CUPTI.  0 or -errno. */
int cupti_etl_end(struct etl_error *error);
/* Between a pause and its end nothing is recorded. */
void cupti_etl_pause(int is_paused);
/* The functions behind cupti_etl.range(), for the Python that this is loaded in: a dictionary, as
 * a new reference; NULL with a sentence.  Called with the GIL held; `size_of_object` is
 * object.__basicsize__. */
void *cupti_etl_python_ranges(size_t size_of_object, struct etl_error *error);

/* What the start-up hook of --pytorch calls, by ctypes; see inject/torch.c. */
enum etl_torch_observed { ETL_TORCH_OPERATORS = 1, ETL_TORCH_SIZES = 2, ETL_TORCH_MODULES = 4 };
/* Finds PyTorch's library in this process and begins to look at how its objects lie. */
int cupti_etl_torch_open(const char *path, struct etl_error *error);
/* The sequence number of the operator that this thread ran last, which had one input. */
void cupti_etl_torch_probe(int64_t sequence);
/* Begins to look at how tensors lie.  Those with one of the dispatch keys `others` will not be asked
 * for their sizes. */
int cupti_etl_torch_look_at_keys(uint64_t others, struct etl_error *error);
/* The dispatch keys of the tensor that an operator of this thread was just called with. */
void cupti_etl_torch_probe_keys(uint64_t keys);
/* Whether that tensor computes its sizes itself, of several that differ in that alone. */
void cupti_etl_torch_probe_flags(int computes_sizes);
/* From now on, what is meant is ranges in sessions; of operators, after having looked.
 * -ENOTSUP: this PyTorch is not as it is known. */
int cupti_etl_torch_observe(int what, struct etl_error *error);
/* Why this process has no ranges of PyTorch, for the collector. */
void cupti_etl_torch_note(const char *text);
void cupti_etl_torch_module_push(const char *text);
void cupti_etl_torch_module_pop(void);
/* cffi: end */
#pragma GCC visibility pop

/* Whether a launch is to be measured. */
#pragma once

#include <stdint.h>

#include "etl/segment.h"

enum etl_launch_call {
	ETL_NO_LAUNCH, ETL_LAUNCH_KERNEL, ETL_LAUNCH_KERNEL_EX, ETL_LAUNCH_COOPERATIVE,
	ETL_LAUNCH_GRAPH, ETL_LAUNCH_OTHER,
};

enum etl_launch_choice {
	ETL_LAUNCH_MEASURED, ETL_LAUNCH_NOT_ASKED_FOR, ETL_LAUNCH_IN_CAPTURE, ETL_LAUNCH_LEFT_OUT,
};

/* What a function of the driver's launches. */
enum etl_launch_call etl_launch_call(const char *function);
/* Counts a launch of a kernel with a shape that is measured.  `reason` is set for one that is left
 * out. */
enum etl_launch_choice etl_launch_choose(enum etl_launch_call call, const void *parameters,
					 const char *kernel, enum etl_left_out *reason);
/* Of the kernel's name and the launch's shape, as far as they are known. */
uint64_t etl_launch_hash(enum etl_launch_call call, const void *parameters, const char *kernel);
/* Takes what is asked for; -EINVAL: the expression is none. */
int etl_launch_choice_begin(void);

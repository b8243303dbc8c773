#pragma once

#include <stdbool.h>

bool etl_trial_is_refused(void); /* nothing is to be recorded, ever */
void etl_trial_launch(void); /* at the entry of a launch */
uint64_t etl_trial_launches(void); /* of this process */

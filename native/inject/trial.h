#pragma once

#include <stdbool.h>

bool etl_trial_is_on(void);
void etl_trial_launch(void); /* at the entry of a launch */

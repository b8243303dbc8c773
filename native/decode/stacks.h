/* Rows of launch_stack and python_stack; see etl/stacks.h. */
#pragma once

#include "decode/row.h"
#include "etl/strings.h"

/* A slot of calls; -ENOMEM. */
ETL_MUST_CHECK int decode_launch_stacks(struct etl_process *process, const uint8_t *data, uint32_t bytes);
/* One of enum etl_stack_state, for a column of a table. */
struct value stack_state(struct etl_process *process, int table, uint32_t column, uint32_t state);
/* An entry with a flag of etl/stacks.h; -ENOMEM. */
ETL_MUST_CHECK int add_stack_entry(struct etl_process *process, const struct etl_string_entry *entry,
				   const uint8_t *bytes);

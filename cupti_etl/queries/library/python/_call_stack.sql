-- The Python stack of each call: as it was kept, or by the functions that it was made in.
--
-- computed: launch_stack and _function_stack.
-- requires: _stacked_process
-- scope: whole
-- columns:
--   process_id, correlation_id of launch_stack
--   stack_id BIGINT: The stack, as in _python_frame; NULL if there is none.
--   state VARCHAR: Why, as in launch_stack or _function_stack.
SELECT process_id, correlation_id, stack_id, state FROM launch_stack
UNION ALL
SELECT process_id, correlation_id, stack_id, state FROM _function_stack

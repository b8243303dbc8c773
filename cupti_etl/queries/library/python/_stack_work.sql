-- What the calls of each Python stack asked of the GPUs, and for how long these had waited for it.
--
-- computed: _stack_activity, without what the activities are called.
-- needs: _stack_activity
-- columns:
--   process_id BIGINT: The traced process.
--   stack_id BIGINT: The stack; NULL for calls without one.
--   reason VARCHAR: Why they have none, in words; NULL for calls with one.
--   is_backward BOOLEAN: Whether the stack is that of the forward pass, and they are not.
--   is_graph BOOLEAN: Whether the stack is that of the capture, and a CUDA graph replayed them.
--   launches BIGINT [calls]: Calls that had work done.
--   activities BIGINT [activities]: Finished activities that they asked for.
--   gpu_ns BIGINT [ns]: Sum of the durations of these.
--   idle_before_ns BIGINT [ns]: Time in which a GPU did nothing and then went on with these.
SELECT process_id, stack_id, reason, is_backward, is_graph,
       TRY_CAST(sum(launches) AS BIGINT) AS launches,
       TRY_CAST(sum(activities) AS BIGINT) AS activities,
       TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
       TRY_CAST(sum(idle_before_ns) AS BIGINT) AS idle_before_ns
FROM _stack_activity
GROUP BY process_id, stack_id, reason, is_backward, is_graph

-- What the calls of each Python stack asked of the GPUs, and for how long these had waited for it.
--
-- computed: _stack_activity, without what the activities are called.
-- columns:
--   process_id, stack_id, reason of _stack_activity
--   is_backward, is_graph, launches, activities, gpu_ns, idle_before_ns of _stack_activity
SELECT process_id, stack_id, reason, is_backward, is_graph,
       TRY_CAST(sum(COLUMNS('^(launches|activities|.+_ns)$')) AS BIGINT)
FROM _stack_activity
GROUP BY process_id, stack_id, reason, is_backward, is_graph

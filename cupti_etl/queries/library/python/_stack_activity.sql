-- What the calls of each Python stack asked of the GPUs, by the names of the activities.
--
-- computed: Calls are those of launch_stack, by stack, or by why they have none. GPU time is the
--   sum of the durations of activities; activities that overlap each count in full. A call that
--   asked for several (a graph) has the name of the first. Idle time is that of _gap_edge before
--   an activity that a call asked for. Calls of PyTorch's backward pass have the stack of the
--   forward pass, where sequence numbers tell it (_backward_stack).
-- needs: launch_stack, _backward_stack, gpu_interval, _gap_edge, kernel_name
-- columns:
--   process_id BIGINT: The traced process.
--   stack_id BIGINT: The stack; NULL for calls without one.
--   reason VARCHAR: Why they have none, in words; NULL for calls with one.
--   is_backward BOOLEAN: Whether the stack is that of the forward pass, and they are not.
--   name VARCHAR: Short name of the kernels, or the kind of other activities.
--   launches BIGINT [calls]: Calls that had work done.
--   activities BIGINT [activities]: Finished activities that they asked for.
--   gpu_ns BIGINT [ns]: Sum of the durations of these.
--   idle_before_ns BIGINT [ns]: Time in which a GPU did nothing and then went on with these.
WITH calls AS (
    SELECT stack.process_id, stack.correlation_id,
           any_value(coalesce(stack.stack_id, backward.stack_id)) AS stack_id,
           any_value(state) AS state, bool_or(backward.stack_id IS NOT NULL) AS is_backward
    FROM launch_stack AS stack
    LEFT JOIN _backward_stack AS backward
        ON backward.process_id = stack.process_id
        AND backward.correlation_id = stack.correlation_id
    GROUP BY stack.process_id, stack.correlation_id
),
work AS (
    SELECT process_id, correlation_id, count(*) AS activities, sum(end_ns - start_ns) AS gpu_ns,
           arg_min(CASE kind WHEN 'kernel' THEN name ELSE concat_ws(' ', kind, name) END,
                   (start_ns, name)) AS name
    FROM gpu_interval
    GROUP BY process_id, correlation_id
),
short AS (
    SELECT mangled, any_value(short) AS short FROM kernel_name GROUP BY mangled
),
idle AS (
    SELECT process_id, next_correlation_id AS correlation_id, sum(gap_ns) AS idle_ns
    FROM _gap_edge
    GROUP BY process_id, next_correlation_id
)
SELECT calls.process_id, stack_id,
       CASE WHEN stack_id IS NOT NULL THEN NULL
            WHEN state = 'no_frames' THEN '(thread of autograd or a library)'
            WHEN state = 'no_python' THEN '(thread without Python)'
            ELSE '(stack not kept: ' || state || ')' END AS reason,
       is_backward, coalesce(short, work.name) AS name, count(*) AS launches,
       TRY_CAST(sum(activities) AS BIGINT) AS activities,
       TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
       TRY_CAST(coalesce(sum(idle_ns), 0) AS BIGINT) AS idle_before_ns
FROM calls
JOIN work
    ON work.process_id = calls.process_id AND work.correlation_id = calls.correlation_id
LEFT JOIN short ON short.mangled = work.name
LEFT JOIN idle
    ON idle.process_id = calls.process_id AND idle.correlation_id = calls.correlation_id
GROUP BY calls.process_id, stack_id, reason, is_backward, coalesce(short, work.name)

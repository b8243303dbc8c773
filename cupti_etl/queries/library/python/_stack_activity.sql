-- What the calls of each Python stack asked of the GPUs, by the names of the activities.
--
-- computed: Calls are those of _call_stack, by stack, or by why they have none. GPU time is the
--   sum of the durations of activities; activities that overlap each count in full. A call that
--   asked for several (a graph) has the name of the first and, if others have another, their
--   number. Idle time is that of _gap_edge before an activity that a call asked for. Calls of
--   PyTorch's backward pass have the stack of the forward pass, where sequence numbers tell it
--   (_backward_stack). What a CUDA graph replays has the stack that it was captured from, if that
--   is known (_graph_interval), each activity as a call of its own; to the call that launched the
--   graph belong the rest, and the idle time.
-- requires: _stacked_process
-- materialized: Made once for an opened trace, as few rows are made of all activities.
-- columns:
--   process_id BIGINT: The traced process.
--   stack_id BIGINT: The stack; NULL for calls without one.
--   reason VARCHAR: Why they have none, in words; NULL for calls with one.
--   is_backward BOOLEAN: Whether the stack is that of the forward pass, and they are not.
--   is_graph BOOLEAN: Whether the stack is that of the capture, and a CUDA graph replayed them.
--   name VARCHAR: Name of the kernels as kernel_rule shows it, or the kind of other activities;
--     "a and 2 more" of calls that asked for several.
--   launches BIGINT [calls]: Calls that had work done.
--   activities BIGINT [activities]: Finished activities that they asked for.
--   gpu_ns BIGINT [ns]: Sum of the durations of these.
--   idle_before_ns BIGINT [ns]: Time in which a GPU did nothing and then went on with these.
WITH calls AS (
    SELECT stack.process_id, stack.correlation_id,
           any_value(coalesce(stack.stack_id, backward.stack_id)) AS stack_id,
           any_value(state) AS state, bool_or(backward.stack_id IS NOT NULL) AS is_backward
    FROM _call_stack AS stack
    LEFT JOIN _backward_stack AS backward USING (process_id, correlation_id)
    GROUP BY stack.process_id, stack.correlation_id
),
-- Once: for plain DuckDB every mention of a view is all of its text.
replays AS MATERIALIZED (
    SELECT * FROM _graph_interval
),
activities AS (
    SELECT process_id, correlation_id, start_ns, end_ns, kind, name, NULL::BIGINT AS made_ns
    FROM gpu_interval
    WHERE graph_node_id IS NULL
    UNION ALL
    SELECT process_id, correlation_id, start_ns, end_ns, kind, name, made_ns
    FROM replays
),
work AS (
    SELECT process_id, correlation_id, any_value(stack_id) AS stack_id, any_value(state) AS state,
           any_value(is_backward) AS is_backward,
           count(*) FILTER (WHERE made_ns IS NULL) AS activities,
           coalesce(sum(end_ns - start_ns) FILTER (WHERE made_ns IS NULL), 0) AS gpu_ns,
           arg_min(CASE kind WHEN 'kernel' THEN name ELSE concat_ws(' ', kind, name) END,
                   (made_ns IS NOT NULL, start_ns, name)) AS name,
           min(name) FILTER (WHERE made_ns IS NULL) <> max(name) FILTER (WHERE made_ns IS NULL)
               AS is_mixed
    FROM activities
    JOIN calls USING (process_id, correlation_id)
    GROUP BY process_id, correlation_id
),
idle AS (
    SELECT process_id, next_correlation_id AS correlation_id, sum(gap_ns) AS idle_ns
    FROM _gap_edge
    GROUP BY process_id, next_correlation_id
),
everything AS (
    SELECT work.process_id, stack_id, state, is_backward, false AS is_graph, name,
           CASE WHEN is_mixed THEN ' and ' || activities - 1 || ' more' ELSE '' END AS others,
           1 AS launches, activities, gpu_ns, coalesce(idle_ns, 0) AS idle_ns
    FROM work
    LEFT JOIN idle USING (process_id, correlation_id)
    UNION ALL
    SELECT process_id, stack_id, state, is_backward, true,
           CASE kind WHEN 'kernel' THEN name ELSE concat_ws(' ', kind, name) END, '', 1, 1,
           end_ns - start_ns, 0
    FROM (FROM replays WHERE made_ns IS NOT NULL) AS replayed
    SEMI JOIN calls USING (process_id, correlation_id)
)
SELECT process_id, stack_id,
       CASE WHEN stack_id IS NOT NULL THEN NULL
            WHEN state = 'no_frames' THEN '(thread of autograd or a library)'
            WHEN state = 'no_python' THEN '(thread without Python)'
            WHEN state = 'outside' THEN '(in no function of Python)'
            ELSE '(stack not kept: ' || state || ')' END AS reason,
       is_backward, is_graph, coalesce(shown, name) || others AS name,
       TRY_CAST(sum(launches) AS BIGINT) AS launches,
       TRY_CAST(sum(activities) AS BIGINT) AS activities,
       TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
       TRY_CAST(sum(idle_ns) AS BIGINT) AS idle_before_ns
FROM everything
LEFT JOIN kernel_rule AS rule ON rule.mangled = name
GROUP BY process_id, stack_id, reason, is_backward, is_graph, coalesce(shown, name) || others

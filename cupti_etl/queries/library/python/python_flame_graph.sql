-- GPU time by whole Python stacks and the kernels at their ends: the rows of a flame graph.
--
-- computed: _stack_activity by the functions of the stack, the outermost first, and the activity,
--   with ";" between them. Frames of one function in different lines are one. Stacks of several
--   processes that look alike are put together. Work of a backward pass has "(backward)" between
--   the two, and what a CUDA graph replayed, which has the stack of its capture, "(graph)".
-- requires: _stacked_process, gpu_activity
-- none: no work on a GPU is known to have been asked for by Python.
-- front: Which calls lead to the GPU time (a flame graph)?
-- first: percent, gpu_ns, launches, stack
-- chart: flame(stack, gpu_ns)
-- example: cupti-etl query python_flame_graph TRACE --limit 20
-- alias: flame_graph, folded_stacks
-- columns:
--   percent DOUBLE [%]: gpu_ns as a share of the GPU time of all calls in _call_stack.
--   gpu_ns BIGINT [ns]: GPU time of work that was asked for so.
--   launches BIGINT [calls]: Calls that had this work done.
--   stack VARCHAR: The frames and the activity.
WITH frames AS (
    SELECT process_id, stack_id, depth,
           function || ' (' || regexp_replace(place, ':[^:]*$', '') || ':' || first_line || ')'
               AS frame
    FROM _stack_frame
),
paths AS (
    SELECT process_id, stack_id,
           string_agg(replace(frame, ';', ':'), ';' ORDER BY depth DESC) AS path
    FROM frames
    GROUP BY process_id, stack_id
),
sums AS (
    SELECT coalesce(path, reason) || CASE WHEN is_backward THEN ';(backward)' ELSE '' END
               || CASE WHEN is_graph THEN ';(graph)' ELSE '' END
               || ';' || replace(name, ';', ':') AS stack,
           sum(gpu_ns) AS gpu_ns, sum(launches) AS launches
    FROM _stack_activity AS work
    LEFT JOIN paths ON paths.process_id = work.process_id AND paths.stack_id = work.stack_id
    WHERE (path IS NOT NULL OR reason IS NOT NULL) AND activities > 0
    GROUP BY ALL
)
SELECT 100.0 * gpu_ns / nullif(sum(gpu_ns) OVER (), 0) AS percent,
       TRY_CAST(gpu_ns AS BIGINT) AS gpu_ns, TRY_CAST(launches AS BIGINT) AS launches, stack
FROM sums
ORDER BY gpu_ns DESC, stack

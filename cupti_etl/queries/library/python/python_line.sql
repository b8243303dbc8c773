-- Which lines of Python the GPU time comes from.
--
-- computed: _stack_work by the lines on its stacks. A line's own work is that of the stacks on
--   which it is the innermost line of the program itself, and not of an installed package; its
--   total is that of all stacks that it is on, each counted once. Own times add to the work of all
--   calls; those without a stack have rows without a file, which say why.
-- requires: launch_stack, gpu_activity
-- limits: PyTorch's backward pass runs on threads of autograd, which have no Python. Its work is
--   that of the forward pass's lines where ranges carry sequence numbers (--pytorch), and else of
--   no line. Work of a CUDA graph whose capture was not seen is that of the line that launched the
--   graph.
-- front: Which line of my code is slow?
-- first: percent, own_gpu_ns, total_gpu_ns, launches, idle_before_ns, place, function
-- chart: bars(place, own_gpu_ns)
-- columns:
--   percent DOUBLE [%]: own_gpu_ns as a share of the GPU time of all calls in launch_stack.
--   own_gpu_ns BIGINT [ns]: GPU time of work for which it is the program's innermost line.
--   backward_gpu_ns BIGINT [ns]: What of own_gpu_ns is work of the backward pass of the line.
--   graph_gpu_ns BIGINT [ns]: What of own_gpu_ns CUDA graphs replayed that the line captured.
--   self_gpu_ns BIGINT [ns]: GPU time of work that the line itself asked for.
--   total_gpu_ns BIGINT [ns]: GPU time of work asked for by it and by all that it called.
--   launches BIGINT [calls]: Calls that had work done, by it and by all that it called; of a graph,
--     each that it captured as often as it was replayed.
--   idle_before_ns BIGINT [ns]: Time in which a GPU did nothing and then went on with its own work.
--   place VARCHAR: The file's name and the line; why it is not known.
--   function, file of _stack_frame
--   line INTEGER: The line.
WITH works AS MATERIALIZED (
    -- Once: for plain DuckDB every mention of a view is all of its text.
    -- Functions that are ranges tell no lines.
    FROM _stack_work SEMI JOIN launch_stack USING (process_id)
),
everything AS (
    SELECT sum(gpu_ns) AS gpu_ns FROM works
),
-- Recursion has a line on a stack several times.
lines AS (
    SELECT process_id, stack_id, place, function, file, line, bool_or(is_innermost_own) AS is_own,
           min(depth) = 0 AS is_self
    FROM _stack_frame
    GROUP BY process_id, stack_id, place, function, file, line
),
parts AS (
    SELECT place, function, file, line, is_own, is_self AND NOT is_backward AS is_self,
           is_backward, is_graph, launches, gpu_ns, idle_before_ns
    FROM lines
    JOIN works AS work USING (process_id, stack_id)
    UNION ALL
    SELECT reason, NULL, NULL, NULL, true, false, false, is_graph, launches, gpu_ns, idle_before_ns
    FROM works
    WHERE reason IS NOT NULL
)
SELECT 100.0 * coalesce(sum(parts.gpu_ns) FILTER (WHERE is_own), 0)
           / nullif(any_value(everything.gpu_ns), 0) AS percent,
       TRY_CAST(coalesce(sum(parts.gpu_ns) FILTER (WHERE is_own), 0) AS BIGINT) AS own_gpu_ns,
       TRY_CAST(coalesce(sum(parts.gpu_ns) FILTER (WHERE is_own AND is_backward), 0) AS BIGINT)
           AS backward_gpu_ns,
       TRY_CAST(coalesce(sum(parts.gpu_ns) FILTER (WHERE is_own AND is_graph), 0) AS BIGINT)
           AS graph_gpu_ns,
       TRY_CAST(coalesce(sum(parts.gpu_ns) FILTER (WHERE is_self), 0) AS BIGINT) AS self_gpu_ns,
       TRY_CAST(sum(parts.gpu_ns) AS BIGINT) AS total_gpu_ns,
       TRY_CAST(sum(launches) AS BIGINT) AS launches,
       TRY_CAST(coalesce(sum(idle_before_ns) FILTER (WHERE is_own), 0) AS BIGINT)
           AS idle_before_ns,
       place, function, file, line
FROM parts, everything
GROUP BY place, function, file, line
ORDER BY own_gpu_ns DESC, total_gpu_ns DESC, file, line, function

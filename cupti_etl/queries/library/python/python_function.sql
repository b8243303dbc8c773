-- Which Python functions the GPU time comes from.
--
-- computed: _stack_work by the functions on its stacks. Self is the work that code of the function
--   itself asked for; own that for which it is the innermost of the program's functions, and not of
--   an installed package's; total that of all stacks that it is on, each counted once. Work of
--   calls without a stack has rows without a file, which say why.
-- requires: _stacked_process, gpu_activity
-- none: no work on a GPU is known to have been asked for by Python.
-- limits: Of PyTorch's backward pass and of CUDA graphs as python_line says.
-- front: Which Python function is slow?
-- first: percent, total_gpu_ns, own_gpu_ns, self_gpu_ns, launches, idle_before_ns, function, place
-- chart: bars(function, total_gpu_ns)
-- example: cupti-etl query python_function TRACE --limit 20
-- columns:
--   percent DOUBLE [%]: total_gpu_ns as a share of the GPU time of all calls in _call_stack.
--   total_gpu_ns BIGINT [ns]: GPU time of work asked for by it and by all that it called.
--   own_gpu_ns BIGINT [ns]: GPU time of work for which it is the program's innermost function.
--   self_gpu_ns BIGINT [ns]: GPU time of work that it asked for itself.
--   launches BIGINT [calls]: Calls that had work done, by it and by all that it called.
--   idle_before_ns BIGINT [ns]: Time in which a GPU did nothing and then went on with its own work.
--   function VARCHAR: The function's qualified name; why it is not known.
--   place VARCHAR: The file's name and the function's first line.
--   file VARCHAR: The file.
--   first_line INTEGER: The function's first line.
WITH works AS MATERIALIZED (
    -- Once: for plain DuckDB every mention of a view is all of its text.
    SELECT * FROM _stack_work
),
everything AS (
    SELECT sum(gpu_ns) AS gpu_ns FROM works
),
-- Recursion has a function on a stack several times.
functions AS (
    SELECT process_id, stack_id, function, file, first_line,
           min(regexp_replace(place, ':[^:]*$', '')) || ':' || first_line AS place,
           bool_or(is_innermost_own) AS is_own, min(depth) = 0 AS is_self
    FROM _stack_frame
    GROUP BY process_id, stack_id, function, file, first_line
),
parts AS (
    SELECT function, place, file, first_line, is_own, is_self AND NOT is_backward AS is_self,
           launches, gpu_ns, idle_before_ns
    FROM functions
    JOIN works AS work USING (process_id, stack_id)
    UNION ALL
    SELECT reason, NULL, NULL, NULL, true, false, launches, gpu_ns, idle_before_ns
    FROM works
    WHERE reason IS NOT NULL
)
SELECT 100.0 * sum(parts.gpu_ns) / nullif(any_value(everything.gpu_ns), 0) AS percent,
       TRY_CAST(sum(parts.gpu_ns) AS BIGINT) AS total_gpu_ns,
       TRY_CAST(coalesce(sum(parts.gpu_ns) FILTER (WHERE is_own), 0) AS BIGINT) AS own_gpu_ns,
       TRY_CAST(coalesce(sum(parts.gpu_ns) FILTER (WHERE is_self), 0) AS BIGINT) AS self_gpu_ns,
       TRY_CAST(sum(launches) AS BIGINT) AS launches,
       TRY_CAST(coalesce(sum(idle_before_ns) FILTER (WHERE is_own), 0) AS BIGINT)
           AS idle_before_ns,
       function, place, file, first_line
FROM parts, everything
GROUP BY function, place, file, first_line
ORDER BY total_gpu_ns DESC, own_gpu_ns DESC, file, first_line, function

-- Whether each launch that was measured has its row in kernel, by process.
--
-- computed: Launches of launch_metric beside rows of kernel with their correlation_id. kernel has
--   one for each launch; more or fewer would count a launch twice or not at all.
-- requires:
--   launch_metric: no launches were measured (capture with --range-metrics).
-- limits: Without records of kernels (--kinds), nothing can be joined.
-- first: is_whole, launches, joined, without_kernel, several_kernels, other_name
-- columns:
--   process_id BIGINT: The traced process.
--   is_whole BOOLEAN: Whether each launch has one kernel, of the same name.
--   launches BIGINT [launches]: Launches that were measured.
--   joined BIGINT [launches]: With one kernel, of the same name.
--   without_kernel BIGINT [launches]: With none.
--   several_kernels BIGINT [launches]: With more than one.
--   other_name BIGINT [launches]: With one that has another name.
WITH launches AS (
    SELECT DISTINCT process_id, range_id, correlation_id, function
    FROM launch_metric
    WHERE range_name IS NULL
),
found AS (
    SELECT launches.process_id, range_id, count(kernel.process_id) AS kernels,
           bool_and(coalesce(kernel.name = function, false)) AS is_same
    FROM launches
    LEFT JOIN kernel USING (process_id, correlation_id)
    GROUP BY launches.process_id, range_id
)
SELECT process_id,
       count(*) = count(*) FILTER (kernels = 1 AND is_same) AS is_whole,
       count(*) AS launches,
       count(*) FILTER (kernels = 1 AND is_same) AS joined,
       count(*) FILTER (kernels = 0) AS without_kernel,
       count(*) FILTER (kernels > 1) AS several_kernels,
       count(*) FILTER (kernels = 1 AND NOT is_same) AS other_name
FROM found
GROUP BY process_id
ORDER BY process_id

-- What each NVTX range asked its GPUs to do: kernels, and copies with their bytes.
--
-- computed: Over the activities of all ranges with the same path, with those of ranges inside and
--   those of ranges of autograd for which they wait. Times are of kernels and sums of durations;
--   kernels that overlap each count in full.
-- requires: marker, gpu_activity
--   api_call: no API calls were recorded (capture with --api default), so work has no range.
-- materialized: Few rows, of all ranges.
-- limits: As of range_gpu.
-- shared: _step_name
-- front: What does each range of my code run on the GPU?
-- first: path, kernels, sum_ns, mean_ns, max_ns, copies, copied_bytes, ranges
-- label: path = range(path)
-- chart: bars(path, sum_ns)
-- lookup: _range_time
-- columns:
--   path VARCHAR: Names of the range and of those around it, with * for the numbers of steps, if
--     there are several.
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   ranges BIGINT [ranges]: Ranges that asked for work.
--   kernels BIGINT [kernels]: Finished kernels.
--   sum_ns BIGINT [ns]: Sum of their durations.
--   max_ns BIGINT [ns]: The longest.
--   mean_ns DOUBLE [ns]: sum_ns divided by kernels.
--   copies BIGINT [copies]: Finished copies.
--   copied_bytes BIGINT [bytes]: Their bytes.
--   sets BIGINT [sets]: Finished memsets.
WITH RECURSIVE outwards AS MATERIALIZED (
    SELECT first.range_id AS alike_range_id, around.alike_range_id AS around_id
    FROM _range_parent AS first
    JOIN _range_parent AS around ON around.range_id = first.parent_range_id
    WHERE first.alike_range_id = first.range_id
),
-- Ranges that are alike lie in ranges that are alike: what they asked for is added up before.
asked AS (
    SELECT alike_range_id, process_id, gpu, sum(kernels) AS kernels, sum(kernel_ns) AS sum_ns,
           max(kernel_max_ns) AS max_ns, sum(copies) AS copies, sum(copied_bytes) AS copied_bytes,
           sum(sets) AS sets
    FROM _range_asked
    JOIN _range_time USING (range_id)
    GROUP BY alike_range_id, process_id, gpu
    UNION ALL
    SELECT around_id, asked.* EXCLUDE (alike_range_id)
    FROM asked
    JOIN outwards USING (alike_range_id)
),
-- Paths can be long: they are looked up for the sums.
sums AS (
    SELECT alike_range_id, process_id, gpu, sum(ranges) AS ranges, sum(kernels) AS kernels,
           sum(sum_ns) AS sum_ns, max(max_ns) AS max_ns, sum(copies) AS copies,
           sum(copied_bytes) AS copied_bytes, sum(sets) AS sets
    FROM (
        FROM asked
        UNION ALL BY NAME
        SELECT alike_range_id, process_id, gpu, count(*) AS ranges
        FROM range_gpu
        JOIN _range_time USING (range_id)
        GROUP BY alike_range_id, process_id, gpu
    )
    GROUP BY alike_range_id, process_id, gpu
)
SELECT CASE WHEN min(alike.alike_range_id) = max(alike.alike_range_id) THEN any_value(path)
            ELSE kind END AS path,
       process_id, gpu, TRY_CAST(sum(ranges) AS BIGINT) AS ranges,
       TRY_CAST(sum(kernels) AS BIGINT) AS kernels,
       TRY_CAST(sum(sums.sum_ns) AS BIGINT) AS sum_ns, max(max_ns) AS max_ns,
       sum(sums.sum_ns) / nullif(sum(kernels), 0)::DOUBLE AS mean_ns,
       TRY_CAST(sum(copies) AS BIGINT) AS copies,
       TRY_CAST(sum(copied_bytes) AS BIGINT) AS copied_bytes,
       TRY_CAST(sum(sets) AS BIGINT) AS sets
FROM sums
JOIN _alike_path AS alike ON alike.alike_range_id = sums.alike_range_id
GROUP BY kind, process_id, gpu
ORDER BY sum_ns DESC NULLS LAST, path, gpu, process_id;

-- merge
FROM partial
ORDER BY sum_ns DESC NULLS LAST, path, gpu, process_id

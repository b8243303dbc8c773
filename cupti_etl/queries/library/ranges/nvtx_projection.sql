-- GPU time of NVTX ranges, by their path: with and without the ranges inside, and idle time.
--
-- computed: range_gpu summed over the ranges of a process that have the same path, without the
--   numbers that PyTorch writes behind each operator's name (seq, op_id, input_op_ids), and as if
--   all steps (step) that differ by their numbers had one name. idle_ns is,
--   within each range's first start to last end on the GPU, the time in which nothing at all ran
--   there (span less the union of all work). What another thread asked for while a range waited
--   for it counts, as PyTorch's backward pass does; where it is not clear who waits, the times of
--   ranges that may do so are not known.
-- requires:
--   marker: no NVTX ranges were recorded.
--   gpu_activity
--   api_call: no API calls were recorded (capture with --api default), so work has no range.
--   range_gpu: no recorded call lies in an NVTX range.
-- materialized: Few rows, of all ranges.
-- limits: Work belongs to the range in which its call began, wherever it ran. Who waits for whom is
--   found from time: as of _range_wait. In a part of a trace it has the ranges that asked for what
--   began there on the GPU, and their durations on the host as wholes.
-- front: How much GPU time belongs to each range of my code?
-- first: gpu_ns, exclusive_gpu_ns, ranges, activities, idle_ns, host_ns, path
-- label: path = range(path)
-- chart: bars(path, gpu_ns)
-- alias: nvtx_gpu_proj_sum, nvtx_sum, nvtxsum
-- lookup: _range_time
-- columns:
--   path VARCHAR: Names of the range and of those around it, with * for the numbers of steps, if
--     there are several.
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   ranges BIGINT [ranges]: Ranges that asked for work.
--   other_threads VARCHAR: 'none' if their own threads asked for all; 'waited for' if other threads
--     did so, too; 'not clear' if these may have: then what they asked for is NULL.
--   activities BIGINT [activities]: Finished activities that they asked for.
--   gpu_ns BIGINT [ns]: Sum of their durations, with those of inner ranges.
--   exclusive_gpu_ns BIGINT [ns]: The same without those of inner ranges.
--   span_ns BIGINT [ns]: First start to last end on the GPU, summed over the ranges.
--   idle_ns BIGINT [ns]: Of this, time with nothing on the GPU.
--   host_ns BIGINT [ns]: Duration of the ranges on the host, summed; without unfinished ones.
--   mean_gpu_ns DOUBLE [ns]: gpu_ns divided by ranges.
WITH edges AS (
    SELECT range_id, gpu, unnest([start_ns, end_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM range_gpu
),
busy AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns FROM _busy_interval WHERE work = 'any'
),
lengths AS (
    SELECT edges.range_id, edges.gpu,
           TRY_CAST(sum(sign * (busy_before_ns + least(at_ns, busy.end_ns) - busy.start_ns))
               AS BIGINT)
               AS busy_ns
    FROM edges
    ASOF JOIN busy ON busy.gpu = edges.gpu AND busy.start_ns <= edges.at_ns
    GROUP BY edges.range_id, edges.gpu
),
sums AS (
    SELECT alike_range_id, ranges.process_id, work.gpu, count(*) AS ranges,
           CASE WHEN NOT bool_and(helped.is_clear) THEN 'not clear'
                WHEN bool_or(helped.is_clear) THEN 'waited for' ELSE 'none' END AS other_threads,
           TRY_CAST(sum(work.activities) AS BIGINT) AS activities,
           TRY_CAST(sum(work.gpu_ns) AS BIGINT) AS gpu_ns,
           TRY_CAST(sum(work.exclusive_gpu_ns) AS BIGINT) AS exclusive_gpu_ns,
           TRY_CAST(sum(work.end_ns - work.start_ns) AS BIGINT) AS span_ns,
           TRY_CAST(sum(work.end_ns - work.start_ns - lengths.busy_ns) AS BIGINT) AS idle_ns,
           TRY_CAST(coalesce(sum(ranges.end_ns - ranges.start_ns), 0) AS BIGINT) AS host_ns
    FROM range_gpu AS work
    JOIN _range_time AS ranges ON ranges.range_id = work.range_id
    JOIN lengths ON lengths.range_id = work.range_id AND lengths.gpu = work.gpu
    LEFT JOIN _range_helped AS helped ON helped.range_id = work.range_id
    GROUP BY alike_range_id, ranges.process_id, work.gpu
    -- Always so: DuckDB takes what is chosen for few, and keeps these in memory, not the paths.
    HAVING count(*) > 0
),
path_sums AS (
    SELECT process_id, gpu,
           CASE WHEN min(alike.alike_range_id) = max(alike.alike_range_id) THEN any_value(path)
                ELSE kind END AS path,
           CASE WHEN bool_or(other_threads = 'not clear') THEN 'not clear'
                ELSE max(other_threads) END AS other_threads,
           TRY_CAST(sum(COLUMNS('^(ranges|activities|.+_ns)$')) AS BIGINT)
    FROM sums
    JOIN _alike_path AS alike ON alike.alike_range_id = sums.alike_range_id
    GROUP BY process_id, gpu, kind
)
SELECT path, process_id, gpu, ranges, other_threads,
       CASE WHEN other_threads != 'not clear'
            THEN COLUMNS('^(activities|(exclusive_)?gpu_ns|span_ns|idle_ns)$') END, host_ns,
       CASE WHEN other_threads != 'not clear' THEN gpu_ns / ranges END AS mean_gpu_ns
FROM path_sums AS sums
ORDER BY sums.gpu_ns DESC, path, gpu, process_id

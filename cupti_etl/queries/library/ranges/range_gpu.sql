-- What each NVTX range asked of each GPU, by itself and with the ranges inside it.
--
-- computed: Activities whose launching call began in the range, on the range's thread. Exclusive
--   is what no inner range asked for. Times are sums of durations; activities that overlap each
--   count in full.
-- needs: nvtx_range, launch_to_gpu, gpu
-- stored: Made once for an opened trace, as steps and projections read it.
-- limits: A range that asked for nothing has no row; nor have activities whose call is not known.
--   What another thread asks for meanwhile is not the range's: PyTorch's backward pass, for one.
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   activities BIGINT [activities]: Finished activities, with those of inner ranges.
--   gpu_ns BIGINT [ns]: Sum of their durations.
--   exclusive_activities BIGINT [activities]: Activities of the range itself.
--   exclusive_gpu_ns BIGINT [ns]: Sum of their durations.
--   start_ns BIGINT [ns]: First start of an activity.
--   end_ns BIGINT [ns]: Last end.
WITH RECURSIVE ranges AS MATERIALIZED (
    SELECT range_id, parent_range_id, process_id, thread_id, start_ns, end_ns, depth
    FROM nvtx_range
),
-- Which range is the innermost of a thread from some time on.
turns AS (
    SELECT process_id, thread_id, start_ns AS at_ns, range_id, 1 AS place, depth AS rank
    FROM ranges
    WHERE end_ns IS NULL OR end_ns > start_ns
    UNION ALL
    SELECT process_id, thread_id, end_ns, parent_range_id, 0, -depth
    FROM ranges
    WHERE end_ns > start_ns
),
innermost AS (
    SELECT process_id, thread_id, at_ns,
           arg_max({'range_id': range_id}, (place, rank)).range_id AS range_id
    FROM turns
    GROUP BY process_id, thread_id, at_ns
),
own AS MATERIALIZED (
    SELECT innermost.range_id,
           coalesce(gpu.gpu, -1 - (hash(work.process_id, work.device_id) >> 33)::BIGINT) AS gpu,
           count(*) AS activities, sum(work.end_ns - work.start_ns)::BIGINT AS gpu_ns,
           min(work.start_ns) AS start_ns, max(work.end_ns) AS end_ns
    FROM (SELECT * FROM launch_to_gpu WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL) AS work
    ASOF JOIN innermost
        ON innermost.process_id = work.process_id
        AND innermost.thread_id = work.thread_id
        AND innermost.at_ns <= work.api_start_ns
    LEFT JOIN gpu ON gpu.process_id = work.process_id AND gpu.device_id = work.device_id
    WHERE innermost.range_id IS NOT NULL
    GROUP BY 1, 2
),
around AS (
    SELECT range_id AS inner_id, range_id AS outer_id FROM ranges
    UNION ALL
    SELECT around.inner_id, ranges.parent_range_id
    FROM around
    JOIN ranges ON ranges.range_id = around.outer_id
    WHERE ranges.parent_range_id IS NOT NULL
)
SELECT around.outer_id AS range_id, own.gpu, sum(own.activities)::BIGINT AS activities,
       sum(own.gpu_ns)::BIGINT AS gpu_ns,
       coalesce(sum(own.activities) FILTER (WHERE inner_id = outer_id), 0)::BIGINT
           AS exclusive_activities,
       coalesce(sum(own.gpu_ns) FILTER (WHERE inner_id = outer_id), 0)::BIGINT AS exclusive_gpu_ns,
       min(own.start_ns) AS start_ns, max(own.end_ns) AS end_ns
FROM own
JOIN around ON around.inner_id = own.range_id
GROUP BY around.outer_id, own.gpu

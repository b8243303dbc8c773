-- What each NVTX range asked of each GPU, by itself and with the ranges inside it.
--
-- computed: Activities whose launching call began in the range, on the range's thread. Exclusive
--   is what no inner range asked for. Times are sums of durations; activities that overlap each
--   count in full.
-- needs: nvtx_range, range_own
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
    SELECT range_id, parent_range_id FROM nvtx_range
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
FROM range_own AS own
JOIN around ON around.inner_id = own.range_id
GROUP BY around.outer_id, own.gpu

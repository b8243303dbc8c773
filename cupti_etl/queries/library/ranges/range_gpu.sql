-- What each NVTX range asked of each GPU, by itself and with the ranges inside it.
--
-- computed: Activities whose launching call began in the range, on the range's thread or on one
--   for which the range clearly waits (_range_wait). Exclusive is what no inner range, nor one of
--   autograd, asked for. Times are sums of durations; activities that overlap each count in full.
-- requires: marker
-- materialized: Made once for an opened trace, as steps and projections read it.
-- limits: A range that asked for nothing has no row; nor have activities whose call is not known.
--   Where it is not clear who waits for a thread, what that asks for is no range's but its own.
-- columns:
--   range_id, gpu of _range_asked
--   activities BIGINT [activities]: Finished activities, with those of inner ranges.
--   gpu_ns, exclusive_activities, exclusive_gpu_ns, start_ns, end_ns of _range_asked
WITH RECURSIVE ranges AS MATERIALIZED (
    SELECT range_id, parent_range_id, depth FROM _range_parent
),
own AS MATERIALIZED (
    SELECT asked.*, ranges.depth, ranges.parent_range_id
    FROM _range_asked AS asked
    JOIN ranges ON ranges.range_id = asked.range_id
),
-- From the deepest ranges outwards, a depth at a time.
sums AS (
    SELECT depth, range_id, gpu, TRY_CAST(sum(activities) AS BIGINT) AS activities,
           TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
           TRY_CAST(sum(exclusive_activities) AS BIGINT) AS exclusive_activities,
           TRY_CAST(sum(exclusive_gpu_ns) AS BIGINT) AS exclusive_gpu_ns, min(start_ns) AS start_ns,
           max(end_ns) AS end_ns, any_value(parent_range_id) AS parent_range_id
    FROM own
    WHERE depth = (SELECT max(depth) FROM own)
    GROUP BY depth, range_id, gpu
    UNION ALL
    SELECT depth, range_id, gpu, TRY_CAST(sum(activities) AS BIGINT),
           TRY_CAST(sum(gpu_ns) AS BIGINT),
           TRY_CAST(sum(exclusive_activities) AS BIGINT), TRY_CAST(sum(exclusive_gpu_ns) AS BIGINT),
           min(start_ns),
           max(end_ns), any_value(parent_range_id)
    FROM (
        SELECT ranges.depth, ranges.range_id, gpu, activities, gpu_ns,
               0::BIGINT AS exclusive_activities, 0::BIGINT AS exclusive_gpu_ns, start_ns, end_ns,
               ranges.parent_range_id
        FROM sums
        JOIN ranges ON ranges.range_id = sums.parent_range_id AND ranges.depth = sums.depth - 1
        UNION ALL
        SELECT depth, range_id, gpu, activities, gpu_ns, exclusive_activities, exclusive_gpu_ns,
               start_ns, end_ns, parent_range_id
        FROM own
        WHERE depth = (SELECT any_value(depth) - 1 FROM sums)
    )
    GROUP BY depth, range_id, gpu
)
SELECT range_id, gpu, activities, gpu_ns, exclusive_activities, exclusive_gpu_ns, start_ns, end_ns
FROM sums

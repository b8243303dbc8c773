-- How much work was launched ahead of each stream.
--
-- computed: A sweep: an activity joins its stream's queue when its call returns, or when it begins
--   if that is earlier, and leaves it when it ends. All of a graph launch in a stream are one,
--   from the earliest of these to the last end. Means are weighted by time, from the first
--   launch to the last end of the stream.
-- requires: api_call, launch_to_gpu
-- materialized: Made in one sweep over calls and activities.
-- limits: Activities without a recorded call are not seen. The driver holds about 1024 launches
--   a stream; from there on, launching waits for the device. Time that was not recorded
--   (_not_recorded) is empty.
-- first: stream_id, activities, mean_depth, max_depth, empty_ns, empty_pct, full_ns, span_ns
-- columns:
--   process_id, device_id of launch_to_gpu
--   context_id INTEGER: Context of the stream.
--   stream_id INTEGER: The stream.
--   activities BIGINT [activities]: Activities with a known call; of a graph launch, one.
--   mean_depth DOUBLE [activities]: Mean over time of those launched and not ended.
--   max_depth BIGINT [activities]: Most of them at once.
--   empty_ns BIGINT [ns]: Time in which the queue was empty and nothing ran.
--   empty_pct DOUBLE [%]: empty_ns as a share of span_ns.
--   full_ns BIGINT [ns]: Time with 1024 or more.
--   span_ns BIGINT [ns]: From the first launch to the last end.
WITH known AS (
    SELECT *, least(api_end_ns, start_ns) AS join_ns, greatest(end_ns, start_ns) AS leave_ns
    FROM launch_to_gpu
    WHERE api_end_ns IS NOT NULL AND start_ns IS NOT NULL AND end_ns IS NOT NULL
),
launched AS (
    SELECT process_id, device_id, context_id, stream_id, join_ns, leave_ns
    FROM known
    WHERE NOT is_graph
    UNION ALL
    SELECT process_id, device_id, context_id, stream_id, min(join_ns), max(leave_ns)
    FROM known
    WHERE is_graph
    -- The call's begin, too, as ids can begin anew.
    GROUP BY process_id, device_id, context_id, stream_id, correlation_id, api_start_ns
),
events AS (
    SELECT process_id, device_id, context_id, stream_id, join_ns AS at_ns, 1 AS step FROM launched
    UNION ALL
    SELECT process_id, device_id, context_id, stream_id, leave_ns, -1 FROM launched
),
sweep AS (
    SELECT process_id, device_id, context_id, stream_id, at_ns, step,
           sum(step) OVER stream AS depth, lead(at_ns) OVER stream - at_ns AS length_ns
    FROM events
    WINDOW stream AS (
        PARTITION BY process_id, device_id, context_id, stream_id ORDER BY at_ns, step DESC
        ROWS UNBOUNDED PRECEDING
    )
)
SELECT process_id, device_id, context_id, stream_id, count(*) // 2 AS activities,
       (sum(depth * length_ns) / nullif(sum(length_ns), 0))::DOUBLE AS mean_depth,
       TRY_CAST(max(depth) AS BIGINT) AS max_depth,
       TRY_CAST(coalesce(sum(length_ns) FILTER (WHERE depth = 0), 0) AS BIGINT) AS empty_ns,
       100.0 * coalesce(sum(length_ns) FILTER (WHERE depth = 0), 0)
           / nullif(sum(length_ns), 0) AS empty_pct,
       TRY_CAST(coalesce(sum(length_ns) FILTER (WHERE depth >= 1024), 0) AS BIGINT) AS full_ns,
       TRY_CAST(coalesce(sum(length_ns), 0) AS BIGINT) AS span_ns
FROM sweep
GROUP BY process_id, device_id, context_id, stream_id
ORDER BY activities DESC, process_id, device_id, context_id, stream_id

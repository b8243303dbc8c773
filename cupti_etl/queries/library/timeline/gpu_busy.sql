-- How much of the time each GPU was doing anything: kernels, copies or memsets, of any process.
--
-- computed: The union of the intervals of all finished activities on a GPU, so that work that
--   overlaps counts once. Processes that share a GPU are put together by its UUID. A GPU of
--   which no device record is known stands alone, per process and ordinal, with a NULL UUID.
-- requires: gpu_activity
-- materialized: Few rows, of all activities.
-- limits: Only work that was recorded counts. Parts of one GPU (MIG) count as one GPU.
-- front: How much of the time was each GPU busy?
-- first: gpu, device_name, busy_pct, busy_ns, span_ns, gaps, longest_gap_ns, activities
-- chart: bars(device_name, busy_pct)
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   device_uuid VARCHAR: The GPU.
--   device_name VARCHAR: Product name.
--   host VARCHAR: Host, or hosts as containers name themselves, of the processes that used it.
--   processes BIGINT [processes]: Processes that used it.
--   activities BIGINT [activities]: Finished activities.
--   unfinished BIGINT [activities]: Activities without a start or end, which count nowhere else.
--   busy_pct DOUBLE [%]: busy_ns as a share of span_ns.
--   busy_ns BIGINT [ns]: Time with at least one activity.
--   span_ns BIGINT [ns]: From the first start to the last end on this GPU.
--   gaps BIGINT [gaps]: Times in the span with no activity.
--   longest_gap_ns BIGINT [ns]: The longest of them; NULL without any.
--   start_ns, end_ns of busy_breakdown
WITH hosts AS (
    SELECT process_id, any_value(host) AS host FROM process GROUP BY process_id
),
idle AS (
    SELECT gpu, count(*) AS gaps, max(gap_ns) AS longest_gap_ns FROM _gpu_gap GROUP BY gpu
),
busy AS (
    SELECT gpu, start_ns, end_ns, span_ns, span_ns - idle_ns AS busy_ns, gaps, longest_gap_ns
    FROM busy_breakdown
    LEFT JOIN idle USING (gpu)
),
counted AS (
    SELECT process_id, device_id, count(*) AS rows, count(end_ns - start_ns) AS activities
    FROM gpu_activity
    GROUP BY process_id, device_id
),
seen AS (
    FROM counted
    UNION ALL BY NAME
    -- What began before a part of a trace is busy there, too.
    FROM (SELECT DISTINCT process_id, device_id FROM gpu_interval)
    ANTI JOIN counted USING (process_id, device_id)
),
labels AS (
    SELECT coalesce(gpu.gpu, -1 - TRY_CAST((hash(seen.process_id, seen.device_id) >> 33) AS BIGINT))
               AS gpu,
           any_value(gpu.device_uuid) AS device_uuid, any_value(gpu.device_name) AS device_name,
           string_agg(DISTINCT hosts.host, ', ' ORDER BY hosts.host) AS host,
           count(DISTINCT seen.process_id) AS processes,
           TRY_CAST(coalesce(sum(seen.activities), 0) AS BIGINT) AS activities,
           TRY_CAST(coalesce(sum(seen.rows - seen.activities), 0) AS BIGINT) AS unfinished
    FROM seen
    LEFT JOIN gpu ON gpu.process_id = seen.process_id AND gpu.device_id = seen.device_id
    LEFT JOIN hosts ON hosts.process_id = seen.process_id
    GROUP BY 1
)
SELECT labels.gpu, labels.device_uuid, labels.device_name, labels.host, labels.processes,
       labels.activities, labels.unfinished,
       100.0 * busy.busy_ns / nullif(busy.span_ns, 0) AS busy_pct,
       coalesce(busy.busy_ns, 0) AS busy_ns,
       coalesce(busy.span_ns, 0) AS span_ns,
       coalesce(busy.gaps, 0) AS gaps,
       busy.longest_gap_ns, busy.start_ns, busy.end_ns
FROM labels
LEFT JOIN busy ON busy.gpu = labels.gpu
ORDER BY labels.host, labels.device_uuid, labels.gpu;

-- merge
FROM partial
ORDER BY host, device_uuid, gpu

-- How much of the time each GPU was doing anything: kernels, copies or sets, of any process.
--
-- computed: The union of the intervals of all finished activities on a GPU, so that work that
--   overlaps counts once. Processes that share a GPU are put together by its UUID. A GPU of
--   which no device record is known stands alone, per process and ordinal, with a NULL UUID.
-- needs: gpu_activity, device, process
-- limits: Only work that was recorded counts. Parts of one GPU (MIG) count as one GPU.
-- columns:
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
--   start_ns BIGINT [ns]: First start.
--   end_ns BIGINT [ns]: Last end.
WITH
-- A small number for each GPU: sorting by it takes half as long as sorting by the UUID.
known AS (
    SELECT process_id, device_id, any_value(device_uuid) AS device_uuid, any_value(name) AS name,
           dense_rank() OVER (ORDER BY any_value(device_uuid)) AS gpu
    FROM device
    WHERE device_uuid IS NOT NULL
    GROUP BY process_id, device_id
),
hosts AS (
    SELECT process_id, any_value(host) AS host FROM process GROUP BY process_id
),
-- A device without a record gets a number below zero.
intervals AS (
    SELECT coalesce(known.gpu, -1 - (hash(act.process_id, act.device_id) >> 1)::BIGINT) AS gpu,
           act.start_ns, greatest(act.start_ns, act.end_ns) AS end_ns
    FROM gpu_activity AS act
    LEFT JOIN known
        ON known.process_id = act.process_id
        AND known.device_id = act.device_id
    WHERE act.start_ns IS NOT NULL AND act.end_ns IS NOT NULL
),
-- In the order of their starts, what lies before a start and after every end so far is a gap.
merged AS (
    SELECT gpu, start_ns, end_ns,
           max(end_ns) OVER (
               PARTITION BY gpu ORDER BY start_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS busy_until_ns
    FROM intervals
),
gaps AS (
    SELECT gpu, start_ns, end_ns,
           CASE WHEN start_ns > busy_until_ns THEN start_ns - busy_until_ns END AS gap_ns
    FROM merged
),
-- The union is the span less the gaps.
busy AS (
    SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
           max(end_ns) - min(start_ns) AS span_ns,
           coalesce(sum(gap_ns), 0)::BIGINT AS idle_ns,
           count(gap_ns) AS gaps, max(gap_ns) AS longest_gap_ns
    FROM gaps
    GROUP BY gpu
),
seen AS (
    SELECT process_id, device_id, count(*) AS rows, count(end_ns - start_ns) AS activities
    FROM gpu_activity
    GROUP BY process_id, device_id
),
labels AS (
    SELECT coalesce(known.gpu, -1 - (hash(seen.process_id, seen.device_id) >> 1)::BIGINT) AS gpu,
           any_value(known.device_uuid) AS device_uuid, any_value(known.name) AS device_name,
           string_agg(DISTINCT hosts.host, ', ' ORDER BY hosts.host) AS host,
           count(DISTINCT seen.process_id) AS processes,
           sum(seen.activities)::BIGINT AS activities,
           sum(seen.rows - seen.activities)::BIGINT AS unfinished
    FROM seen
    LEFT JOIN known
        ON known.process_id = seen.process_id
        AND known.device_id = seen.device_id
    LEFT JOIN hosts ON hosts.process_id = seen.process_id
    GROUP BY 1
)
SELECT labels.device_uuid, labels.device_name, labels.host, labels.processes, labels.activities,
       labels.unfinished,
       100.0 * (busy.span_ns - busy.idle_ns) / nullif(busy.span_ns, 0) AS busy_pct,
       coalesce(busy.span_ns - busy.idle_ns, 0) AS busy_ns,
       coalesce(busy.span_ns, 0) AS span_ns,
       coalesce(busy.gaps, 0) AS gaps,
       busy.longest_gap_ns, busy.start_ns, busy.end_ns
FROM labels
LEFT JOIN busy ON busy.gpu = labels.gpu
ORDER BY labels.host, labels.device_uuid, labels.gpu

-- When each GPU was busy: maximal intervals with something running, for three sets of work.
--
-- computed: The union of the intervals of gpu_interval per GPU, of compute alone, of compute and
--   communication, and of everything. In the order of their starts, an activity that begins after
--   every end so far begins an interval, which lasts to the latest end before the next one.
-- materialized: Made once for an opened trace, as every query about time reads it.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   work VARCHAR: compute, compute_or_communication or any.
--   work_bits TINYINT: The same, to join by: 1 for compute, 2 for communication and 4 for copies,
--     added.
--   start_ns BIGINT [epoch ns]: Begin of the interval.
--   end_ns BIGINT [epoch ns]: Its end.
--   busy_before_ns BIGINT [ns]: Length of the earlier intervals of the GPU and set together.
WITH until AS (
    SELECT gpu, start_ns, end_ns, category,
           max(end_ns) OVER before AS any_ns,
           max(CASE WHEN category != 'copy' THEN end_ns END) OVER before AS gpu_work_ns,
           max(CASE WHEN category = 'compute' THEN end_ns END) OVER before AS compute_ns
    FROM gpu_interval
    WINDOW before AS (
        PARTITION BY gpu ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
begins AS (
    SELECT gpu, 'any' AS work, start_ns, any_ns AS until_ns
    FROM until
    WHERE start_ns > any_ns OR any_ns IS NULL
    UNION ALL
    SELECT gpu, 'compute_or_communication', start_ns, gpu_work_ns
    FROM until
    WHERE category != 'copy' AND (start_ns > gpu_work_ns OR gpu_work_ns IS NULL)
    UNION ALL
    SELECT gpu, 'compute', start_ns, compute_ns
    FROM until
    WHERE category = 'compute' AND (start_ns > compute_ns OR compute_ns IS NULL)
),
last AS (
    SELECT gpu, max(end_ns) AS any_ns,
           max(end_ns) FILTER (WHERE category != 'copy') AS gpu_work_ns,
           max(end_ns) FILTER (WHERE category = 'compute') AS compute_ns
    FROM gpu_interval
    GROUP BY gpu
),
intervals AS (
    SELECT begins.gpu, work, start_ns,
           coalesce(
               lead(until_ns) OVER (PARTITION BY begins.gpu, work ORDER BY start_ns),
               CASE work WHEN 'any' THEN any_ns WHEN 'compute' THEN compute_ns
                         ELSE gpu_work_ns END
           ) AS end_ns
    FROM begins
    JOIN last ON last.gpu = begins.gpu
)
SELECT gpu, work,
       CASE work WHEN 'compute' THEN 1 WHEN 'any' THEN 7 ELSE 3 END::TINYINT AS work_bits,
       start_ns, end_ns,
       TRY_CAST(coalesce(sum(end_ns - start_ns) OVER (
           PARTITION BY gpu, work ORDER BY start_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
       ), 0) AS BIGINT) AS busy_before_ns
FROM intervals

-- The times in which work of a GPU was not recorded, of one of the processes that used it.
--
-- computed: From the end of a window of a process to the begin of its next one, and windows that
--   stand for several, as it is not known when in them nothing was recorded. The union over the
--   processes of a GPU: times of one GPU do not meet.
-- requires: capture_window
-- materialized: Few rows, which are looked at in all that is about idle time.
-- scope: whole
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When records were switched off.
--   end_ns BIGINT [epoch ns]: When they were on again.
WITH off AS (
    SELECT process_id, end_ns AS start_ns,
           lead(start_ns) OVER (PARTITION BY process_id ORDER BY number) AS end_ns
    FROM _window
    UNION ALL
    SELECT process_id, start_ns, end_ns FROM _window WHERE is_several
),
of_gpu AS (
    SELECT gpu.gpu, off.start_ns, off.end_ns,
           max(off.end_ns) OVER (
               PARTITION BY gpu.gpu ORDER BY off.start_ns, off.end_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS until_ns
    FROM off
    JOIN gpu ON gpu.process_id = off.process_id
    WHERE off.start_ns < off.end_ns
),
apart AS (
    SELECT *, sum(CASE WHEN start_ns <= until_ns THEN 0 ELSE 1 END) OVER (
                  PARTITION BY gpu ORDER BY start_ns, end_ns
                  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
              ) AS island
    FROM of_gpu
)
SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM apart
GROUP BY gpu, island

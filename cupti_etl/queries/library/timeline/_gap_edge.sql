-- All times in which a GPU did nothing, and what ran before and after.
--
-- computed: Gaps of the union over all streams and processes of a GPU, with an activity that
--   ended and one that began at their edges.
-- materialized: Made once for an opened trace, as every query about idle time reads it.
-- scope: start_ns to end_ns, gap_ns
-- columns:
--   _gpu_gap.*
--   process_id BIGINT: Process of next_name, for which the GPU had to wait.
--   previous_kind VARCHAR: Kind of the activity before.
--   previous_name VARCHAR: Its name, as in gpu_activity.
--   next_kind VARCHAR: Kind of the activity after.
--   next_name VARCHAR: Its name, as in gpu_activity.
--   next_stream_id INTEGER: Its stream.
--   next_correlation_id BIGINT: The call that asked for it.
--   first_correlation_id BIGINT: The smallest correlation id of all that its process did on the GPU
--     then or later, in any stream.
WITH before AS (
    SELECT long.gpu, long.start_ns, min(act.kind) AS kind,
           arg_min(act.name, (act.kind, act.name)) AS name
    FROM gpu_interval AS act
    JOIN _gpu_gap AS long ON long.gpu = act.gpu AND long.start_ns = act.end_ns
    GROUP BY long.gpu, long.start_ns
),
next AS (
    SELECT long.gpu, long.end_ns,
           arg_min(act, (act.process_id, act.stream_id, act.correlation_id)) AS act
    FROM gpu_interval AS act
    JOIN _gpu_gap AS long ON long.gpu = act.gpu AND long.end_ns = act.start_ns
    GROUP BY long.gpu, long.end_ns
),
first AS (
    SELECT DISTINCT gpu, process_id, start_ns, correlation_id
    FROM (
        -- With all that began at the same time.
        SELECT gpu, process_id, start_ns, min(correlation_id) OVER (
                   PARTITION BY gpu, process_id ORDER BY start_ns DESC
               ) AS correlation_id
        FROM gpu_interval
    )
)
SELECT long.gpu, long.start_ns, long.end_ns, long.gap_ns, next.act.process_id,
       before.kind AS previous_kind, before.name AS previous_name,
       next.act.kind AS next_kind, next.act.name AS next_name,
       next.act.stream_id AS next_stream_id, next.act.correlation_id AS next_correlation_id,
       first.correlation_id AS first_correlation_id
FROM _gpu_gap AS long
LEFT JOIN before ON before.gpu = long.gpu AND before.start_ns = long.start_ns
LEFT JOIN next ON next.gpu = long.gpu AND next.end_ns = long.end_ns
LEFT JOIN first
    ON first.gpu = long.gpu AND first.process_id = next.act.process_id
    AND first.start_ns = long.end_ns

-- The longest times in which a stream did nothing, and what ran in it before and after.
--
-- computed: In the order of the starts within a stream, from the latest end so far to the next
--   start, but for times in some of which work of the GPU was not recorded (_not_recorded). What
--   ran before is the activity that began last before the gap.
-- requires: gpu_activity
-- limits: Other streams of the GPU can have been at work meanwhile: what gpu_gaps lists, none was.
--   Nodes of a CUDA graph count for the streams that they are recorded under.
-- first: gap_ns, stream_id, start_ns, previous_kind, previous_name, next_kind, next_name
-- label: next_name = kernel(next_kind)
-- parameters:
--   min_ns BIGINT = 1000 [ns]: Shortest gap that is listed.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   process_id BIGINT: Process of the stream.
--   context_id INTEGER: Its context.
--   stream_id INTEGER: The stream.
--   start_ns BIGINT [epoch ns]: When the stream became idle.
--   end_ns BIGINT [epoch ns]: When it went on.
--   gap_ns BIGINT [ns]: Length.
--   previous_kind VARCHAR: Kind of the activity before.
--   previous_name VARCHAR: Its name, as in gpu_activity.
--   next_kind VARCHAR: Kind of the activity after.
--   next_name VARCHAR: Its name, as in gpu_activity.
--   next_correlation_id BIGINT: The call that asked for it.
WITH gaps AS (
    SELECT *, lag(kind) OVER stream AS previous_kind, lag(name) OVER stream AS previous_name,
           max(end_ns) OVER (stream ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until_ns
    FROM gpu_interval
    WINDOW stream AS (
        PARTITION BY gpu, process_id, context_id, stream_id
        ORDER BY start_ns, end_ns, correlation_id
    )
    QUALIFY start_ns - until_ns >= greatest(min_ns, 1)
)
SELECT gaps.gpu, process_id, context_id, stream_id, until_ns AS start_ns, gaps.start_ns AS end_ns,
       gaps.start_ns - until_ns AS gap_ns, previous_kind, previous_name, kind AS next_kind,
       name AS next_name, correlation_id AS next_correlation_id
FROM gaps
ASOF LEFT JOIN _not_recorded AS off ON off.gpu = gaps.gpu AND off.start_ns < gaps.start_ns
WHERE off.end_ns IS NULL OR off.end_ns <= until_ns
ORDER BY gap_ns DESC, gaps.gpu, until_ns, process_id, context_id, stream_id

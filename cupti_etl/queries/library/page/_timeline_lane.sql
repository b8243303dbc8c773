-- The lanes of the page's timeline, numbered in the order in which they are drawn.
--
-- computed: What of _timeline_thing has the same content and is of the same GPU or process, device,
--   context, stream or thread, and metric. GPUs come first, each with its idle times, streams,
--   metrics and clocks; then processes, each with its losses and its threads.
-- materialized: Made once for an opened trace, as it goes through all of it.
-- scope: whole
-- columns:
--   lane INTEGER: Number of the lane, from 0.
--   content VARCHAR: As in _timeline_thing, as are the following.
--   gpu BIGINT: The GPU.
--   process_id BIGINT: The process.
--   device_id INTEGER: The device.
--   context_id INTEGER: The context.
--   number INTEGER: Stream or thread.
--   metric VARCHAR: The metric.
--   items BIGINT: How many things it has.
--   max_value DOUBLE: Largest value of its samples; NULL for others.
--   begin_ns BIGINT [epoch ns]: When the trace began: its capture, or else its first thing.
--   end_ns BIGINT [ns]: When the last thing of the trace ended, since then.
WITH lanes AS (
    SELECT content, gpu, process_id, device_id, context_id, number, metric, count(*) AS items,
           max(value) AS max_value, min(start_ns) AS first_ns,
           max(greatest(start_ns, end_ns)) AS last_ns
    FROM _timeline_thing
    GROUP BY ALL
),
-- Threads of a process in the order in which they begin.
threads AS (
    SELECT process_id, number, min(first_ns) AS first_ns
    FROM lanes
    WHERE content IN ('range', 'python', 'api')
    GROUP BY process_id, number
),
extent AS (
    SELECT coalesce((SELECT min(start_ns) FROM capture), min(first_ns)) AS begin_ns,
           max(last_ns) AS last_ns
    FROM lanes
)
SELECT TRY_CAST(row_number() OVER (
           ORDER BY lanes.process_id >= 0 AND content <> 'stream', gpu,
                    CASE WHEN content <> 'stream' THEN place END,
                    CASE content WHEN 'idle' THEN 0 WHEN 'stream' THEN 1 WHEN 'loss' THEN 2
                                 WHEN 'metric' THEN 4 WHEN 'clock' THEN 5 ELSE 3 END,
                    threads.first_ns,
                    CASE content WHEN 'range' THEN 0 WHEN 'python' THEN 1 ELSE 2 END,
                    lanes.number, lanes.process_id, device_id, context_id, metric
       ) - 1 AS INTEGER) AS lane,
       content, gpu, lanes.process_id, device_id, context_id, lanes.number, metric, items,
       max_value, begin_ns,
       greatest(extent.last_ns - begin_ns, 0) AS end_ns
FROM extent, lanes
LEFT JOIN _export_process AS shown ON shown.process_id = lanes.process_id
LEFT JOIN threads
    ON threads.process_id = lanes.process_id
    AND threads.number = lanes.number
    AND content IN ('range', 'python', 'api')

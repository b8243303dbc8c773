-- Whatever the timeline of the page draws: each thing with what tells its lane from others.
--
-- computed: Work of a GPU in its stream; idle times of a GPU, each with the cause that took
--   most of it; calls, ranges and stacks of a thread; what was lost of a process, or not recorded
--   between two windows; samples of metrics and clocks, each up to the next one. What has no end is
--   drawn to the end of the trace.
-- scope: whole
-- columns:
--   content VARCHAR: idle, stream, metric, clock, loss, range, python or api.
--   gpu BIGINT: Number of the GPU, as in gpu; -1 for what is of a process.
--   process_id BIGINT: The process; -1 for what is of a GPU alone.
--   device_id INTEGER: CUDA ordinal of the GPU in that process; -1 for others than streams.
--   context_id INTEGER: Context of a stream; -1 for others.
--   number INTEGER: Stream or thread; -1 for others.
--   metric VARCHAR: Name of a metric or clock; empty for others.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it did not while tracing.
--   depth INTEGER: In which row of its lane it is drawn, from 0; NULL where calls and streams tell.
--   label VARCHAR: Its name; NULL for samples.
--   category VARCHAR: What has one colour.
--   value DOUBLE: Value of a sample, in the unit of its metric; NULL for others.
SELECT 'stream' AS content, gpu, process_id, coalesce(device_id, -1) AS device_id,
       coalesce(context_id, -1) AS context_id, coalesce(stream_id, -1) AS number, '' AS metric,
       start_ns, end_ns, NULL::INTEGER AS depth,
       CASE kind WHEN 'kernel' THEN coalesce(rules.shown, name, 'kernel')
                 WHEN 'graph' THEN concat('graph ', graph_id)
                 ELSE concat(coalesce(name, 'memset'), ' ' || format_bytes(bytes)) END AS label,
       CASE kind WHEN 'kernel' THEN coalesce(rules.category, 'other') WHEN 'graph' THEN 'graph'
                 WHEN 'memset' THEN 'memset' ELSE 'copy ' || coalesce(name, '') END AS category,
       NULL::DOUBLE AS value
FROM (
    SELECT gpu, process_id, device_id, context_id, stream_id, start_ns, end_ns, kind, name, bytes,
           graph_id
    FROM gpu_interval
    UNION ALL
    SELECT coalesce(gpu.gpu, -1), act.process_id, act.device_id, context_id, stream_id, start_ns,
           NULL, kind, name, bytes, graph_id
    FROM gpu_activity AS act
    LEFT JOIN gpu ON gpu.process_id = act.process_id AND gpu.device_id = act.device_id
    WHERE start_ns IS NOT NULL AND end_ns IS NULL
)
LEFT JOIN kernel_rule AS rules ON rules.mangled = name AND kind = 'kernel'
UNION ALL
SELECT 'idle', gpu, -1, -1, -1, -1, '', start_ns, start_ns + gap_ns, 0, cause, 'idle: ' || cause,
       NULL
FROM (
    SELECT gpu, start_ns, gap_ns,
           CASE greatest(input_ns, host_ns, launching_ns, memory_ns, waiting_ns, other_cuda_ns,
                         queued_ns, loading_ns, profiler_ns, unknown_ns)
               WHEN queued_ns THEN 'queued' WHEN profiler_ns THEN 'profiler'
               WHEN loading_ns THEN 'loading' WHEN waiting_ns THEN 'waiting'
               WHEN memory_ns THEN 'memory' WHEN launching_ns THEN 'launching'
               WHEN other_cuda_ns THEN 'other CUDA' WHEN input_ns THEN 'input'
               WHEN host_ns THEN 'outside CUDA' ELSE 'unknown' END AS cause
    FROM _idle_cause
)
UNION ALL
SELECT 'api', -1, process_id, -1, -1, coalesce(thread_id, -1), '', start_ns, end_ns, NULL,
       coalesce(name, 'call'),
       CASE class WHEN 1 THEN 'loading call' WHEN 2 THEN 'waiting call' WHEN 3 THEN 'memory call'
                  WHEN 4 THEN 'launching call' ELSE 'other call' END,
       NULL
FROM _host_span
WHERE source = 'api_call' AND start_ns IS NOT NULL
UNION ALL
SELECT 'range', -1, process_id, -1, -1, coalesce(thread_id, -1), '', start_ns, end_ns,
       TRY_CAST(depth AS INTEGER), coalesce(name, 'range'), coalesce(domain, 'NVTX'), NULL
FROM nvtx_range
WHERE start_ns IS NOT NULL
UNION ALL
SELECT 'python', -1, process_id, -1, -1, coalesce(thread_id, -1), '', start_ns, end_ns, depth,
       function, 'python', NULL
FROM _timeline_frame
UNION ALL
SELECT 'loss', -1, coalesce(process_id, -1), -1, -1, -1, '', start_ns, end_ns, 0,
       concat_ws(': ', cause, table_name), 'not recorded', NULL
FROM _timeline_loss
UNION ALL
SELECT 'metric', gpus.gpu, -1, -1, -1, -1, metric, start_ns, end_ns, 0, NULL, metric, value
FROM pm_value
JOIN (SELECT device_uuid, min(gpu) AS gpu FROM gpu GROUP BY device_uuid) AS gpus
    USING (device_uuid)
UNION ALL
SELECT 'clock', gpu, -1, -1, -1, -1, metric, timestamp_ns,
       lead(timestamp_ns) OVER (PARTITION BY gpu, metric ORDER BY timestamp_ns), 0, NULL, metric,
       value
FROM (
    SELECT gpu, timestamp_ns, unnest(['SM clock', 'power']) AS metric,
           unnest([sm_clock_mhz, power_mw / 1000.0]) AS value
    FROM environment
    JOIN gpu USING (process_id, device_id)
)
WHERE timestamp_ns IS NOT NULL AND value IS NOT NULL

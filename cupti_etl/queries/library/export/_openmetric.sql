-- What a trace shows a monitoring system: counters since its beginning, and how it is now.
--
-- computed: Counters are sums over the tables. "Now" is the last ten seconds before the last end of
--   an activity: busy is the union of the activities in it, PM metrics are means over time. Memory
--   is that of processes that had not ended before then.
-- needs: gpu_interval, api_call, launch, memory_timeline, pm_value, pm_metric, gpu, loss, process,
--   capture
-- limits: As of memory_timeline; unfinished work and calls count once they have ended.
-- scope: whole
-- columns:
--   family VARCHAR: Name of the metric, without "_total".
--   kind VARCHAR: counter, gauge or info.
--   unit VARCHAR: seconds, bytes or ratio; empty for a number.
--   help VARCHAR: What it counts.
--   labels VARCHAR: Its labels, as a JSON object.
--   value DOUBLE: The value.
WITH work AS (
    SELECT gpu, kind, coalesce(name, kind) AS name, count(*) AS n,
           sum(end_ns - start_ns) / 1e9 AS seconds, coalesce(sum(bytes), 0) AS bytes
    FROM gpu_interval
    GROUP BY gpu, kind, CASE WHEN kind IN ('kernel', 'graph') THEN NULL ELSE name END, name
),
by_kind AS (
    SELECT gpu, kind, CASE WHEN kind IN ('kernel', 'graph') THEN '' ELSE name END AS direction,
           sum(n) AS n, sum(seconds) AS seconds, sum(bytes) AS bytes
    FROM work
    GROUP BY ALL
),
last AS (
    SELECT max(end_ns) AS end_ns FROM gpu_interval
),
recent AS (
    SELECT gpu, greatest(act.start_ns, last.end_ns - 10000000000) AS start_ns, act.end_ns,
           last.end_ns AS now_ns
    FROM gpu_interval AS act, last
    WHERE act.end_ns > last.end_ns - 10000000000
),
-- What each adds to the union of those that began before it.
added AS (
    SELECT gpu, greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER (
               PARTITION BY gpu ORDER BY start_ns, end_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), start_ns))) AS busy_ns
    FROM recent
),
seen AS (
    SELECT gpu, min(start_ns) AS first_ns FROM gpu_interval GROUP BY gpu
),
calls AS (
    SELECT domain, name, count(*) AS n, sum(end_ns - start_ns) / 1e9 AS seconds,
           count(*) FILTER (WHERE return_value NOT IN (0, 600)) AS errors
    FROM api_call
    WHERE end_ns >= start_ns
    GROUP BY domain, name
),
held AS (
    SELECT gpus.gpu, memory_kind, sum(bytes) AS bytes
    FROM (
        SELECT process_id, device_id, memory_kind, arg_max(in_use_bytes, timestamp_ns) AS bytes
        FROM memory_timeline
        ANTI JOIN (
            SELECT process_id FROM process, last WHERE process.end_ns < last.end_ns
        ) AS ended USING (process_id)
        GROUP BY process_id, device_id, memory_kind
    )
    LEFT JOIN (SELECT DISTINCT process_id, device_id, gpu FROM gpu) AS gpus
        USING (process_id, device_id)
    GROUP BY gpus.gpu, memory_kind
),
sampled AS (
    SELECT gpus.gpu, metric, any_value(units.unit) AS unit,
           sum(value * (end_ns - start_ns)) / sum(end_ns - start_ns) AS value
    FROM (SELECT *, max(end_ns) OVER () AS now_ns FROM pm_value)
    JOIN (SELECT device_uuid, min(gpu) AS gpu FROM gpu GROUP BY device_uuid) AS gpus
        USING (device_uuid)
    LEFT JOIN (SELECT metric, any_value(unit) AS unit FROM pm_metric GROUP BY metric) AS units
        USING (metric)
    WHERE end_ns > now_ns - 10000000000 AND end_ns > start_ns
    GROUP BY gpus.gpu, metric
)
SELECT 'cupti_etl_kernels' AS family, 'counter' AS kind, '' AS unit,
       'Kernels that have ended' AS help, json_object('gpu', gpu::VARCHAR)::VARCHAR AS labels,
       sum(n)::DOUBLE AS value
FROM by_kind WHERE kind = 'kernel' GROUP BY gpu
UNION ALL
SELECT 'cupti_etl_kernel_seconds', 'counter', 'seconds', 'Durations of kernels',
       json_object('gpu', gpu::VARCHAR)::VARCHAR, sum(seconds)
FROM by_kind WHERE kind = 'kernel' GROUP BY gpu
UNION ALL
SELECT 'cupti_etl_transfers', 'counter', '', 'Copies and memsets that have ended',
       json_object('gpu', gpu::VARCHAR, 'kind', kind, 'direction', direction)::VARCHAR, n
FROM by_kind WHERE kind NOT IN ('kernel', 'graph')
UNION ALL
SELECT 'cupti_etl_transfer_bytes', 'counter', 'bytes', 'Bytes copied or set',
       json_object('gpu', gpu::VARCHAR, 'kind', kind, 'direction', direction)::VARCHAR, bytes
FROM by_kind WHERE kind NOT IN ('kernel', 'graph')
UNION ALL
SELECT 'cupti_etl_transfer_seconds', 'counter', 'seconds', 'Durations of copies and memsets',
       json_object('gpu', gpu::VARCHAR, 'kind', kind, 'direction', direction)::VARCHAR, seconds
FROM by_kind WHERE kind NOT IN ('kernel', 'graph')
UNION ALL
SELECT 'cupti_etl_api_calls', 'counter', '', 'CUDA API calls that have returned',
       json_object('api', domain, 'function', name)::VARCHAR, n
FROM calls
UNION ALL
SELECT 'cupti_etl_launches', 'counter', '', 'CUDA API calls that started work which has ended',
       json_object('api', domain, 'function', name)::VARCHAR, count(*)
FROM launch GROUP BY domain, name
UNION ALL
SELECT 'cupti_etl_api_seconds', 'counter', 'seconds', 'Time in CUDA API calls',
       json_object('api', domain, 'function', name)::VARCHAR, seconds
FROM calls
UNION ALL
SELECT 'cupti_etl_api_errors', 'counter', '', 'CUDA API calls that returned an error',
       json_object('api', domain, 'function', name)::VARCHAR, errors
FROM calls
UNION ALL
SELECT 'cupti_etl_busy_ratio', 'gauge', 'ratio', 'Share of the last ten seconds with any activity',
       json_object('gpu', gpu::VARCHAR)::VARCHAR,
       coalesce(any_value(busy_ns), 0)
           / greatest(1, any_value(least(10000000000, last.end_ns - first_ns)))
FROM seen
LEFT JOIN (SELECT gpu, sum(busy_ns) AS busy_ns FROM added GROUP BY gpu) USING (gpu), last
GROUP BY gpu
UNION ALL
SELECT 'cupti_etl_memory_bytes', 'gauge', 'bytes', 'Memory allocated and not yet released',
       json_object('gpu', gpu::VARCHAR, 'kind', memory_kind)::VARCHAR, bytes
FROM held
UNION ALL
SELECT 'cupti_etl_pm', 'gauge', '', 'Mean of a PM metric over the last ten seconds',
       json_object('gpu', gpu::VARCHAR, 'metric', metric, 'unit', coalesce(unit, ''))::VARCHAR,
       value
FROM sampled
UNION ALL
SELECT 'cupti_etl_losses', 'counter', '', 'Times that records were lost',
       json_object('cause', cause)::VARCHAR, count(*)
FROM loss WHERE is_stored IS NOT true GROUP BY cause
UNION ALL
SELECT 'cupti_etl_lost_records', 'counter', '', 'Records that were lost, where the number is known',
       json_object('cause', cause)::VARCHAR, coalesce(sum(records), 0)
FROM loss WHERE is_stored IS NOT true GROUP BY cause
UNION ALL
SELECT 'cupti_etl_recording', 'gauge', '', 'Whether the capture goes on', '{}',
       (count(*) > count(end_ns))::INTEGER
FROM capture HAVING count(*) > 0
UNION ALL
SELECT 'cupti_etl_last_activity_timestamp_seconds', 'gauge', 'seconds',
       'When the last activity ended, since 1970', '{}', end_ns / 1e9
FROM last WHERE end_ns IS NOT NULL
UNION ALL
SELECT DISTINCT 'cupti_etl_gpu', 'info', '', 'A GPU',
       json_object('gpu', gpu::VARCHAR, 'uuid', coalesce(device_uuid, ''),
                   'name', coalesce(device_name, ''), 'host', coalesce(host, ''))::VARCHAR, 1
FROM gpu
UNION ALL
SELECT 'cupti_etl_process', 'info', '', 'A traced process',
       json_object('pid', pid::VARCHAR, 'host', coalesce(host, ''),
                   'rank', coalesce(rank::VARCHAR, ''), 'state', coalesce(state, ''))::VARCHAR, 1
FROM process

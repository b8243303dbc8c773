-- What a trace shows a monitoring system: counters since its beginning, and how it is now.
--
-- computed: Counters are sums over the tables. "Now" is the last ten seconds before the last end of
--   an activity: busy is the union of the activities in it, PM metrics are means over time. Memory
--   is that of processes that had not ended before then.
-- limits: As of memory_timeline; unfinished work and calls count once they have ended.
-- scope: whole
-- columns:
--   family VARCHAR: Name of the metric, without "_total".
--   kind VARCHAR: counter, gauge or info.
--   unit VARCHAR: seconds, bytes or ratio; empty for a number.
--   help VARCHAR: What it counts.
--   labels VARCHAR: Its labels, as a JSON object.
--   value DOUBLE: The value.
WITH work AS MATERIALIZED (
    FROM _work_sum()
),
last AS (
    SELECT max(last_ns) AS end_ns FROM work
),
by_kind AS (
    SELECT gpu, kind, CASE WHEN kind IN ('kernel', 'graph') THEN '' ELSE name END AS direction,
           sum(calls) AS n, sum(total_ns) / 1e9 AS seconds, sum(bytes) AS bytes
    FROM work
    GROUP BY ALL
),
seen AS (
    SELECT gpu, min(first_ns) AS first_ns, any_value(last.end_ns) AS now_ns
    FROM work, last
    GROUP BY gpu
),
calls AS MATERIALIZED (
    FROM _call_sum()
),
held AS (
    SELECT gpus.gpu, memory_kind, sum(in_use_bytes) AS bytes
    FROM (
        FROM _memory_held
        ANTI JOIN (
            SELECT process_id FROM process, last WHERE process.end_ns < last.end_ns
        ) AS ended USING (process_id)
    )
    LEFT JOIN (SELECT DISTINCT process_id, device_id, gpu FROM gpu) AS gpus
        USING (process_id, device_id)
    GROUP BY gpus.gpu, memory_kind
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
       json_object('api', domain, 'function', name)::VARCHAR, calls
FROM calls
UNION ALL
SELECT 'cupti_etl_launches', 'counter', '', 'CUDA API calls that started work which has ended',
       json_object('api', domain, 'function', name)::VARCHAR, count(*)
FROM launch GROUP BY domain, name
UNION ALL
SELECT 'cupti_etl_api_seconds', 'counter', 'seconds', 'Time in CUDA API calls',
       json_object('api', domain, 'function', name)::VARCHAR, total_ns / 1e9
FROM calls
UNION ALL
SELECT 'cupti_etl_api_errors', 'counter', '', 'CUDA API calls that returned an error',
       json_object('api', domain, 'function', name)::VARCHAR, errors
FROM calls
UNION ALL
SELECT 'cupti_etl_busy_ratio', 'gauge', 'ratio', 'Share of the last ten seconds with any activity',
       json_object('gpu', gpu::VARCHAR)::VARCHAR,
       coalesce(busy_ns, 0) / greatest(1, least(10000000000, now_ns - first_ns))
FROM seen
LEFT JOIN _busy_between((SELECT max(end_ns) - 10000000000 FROM gpu_interval), NULL) USING (gpu)
UNION ALL
SELECT 'cupti_etl_memory_bytes', 'gauge', 'bytes', 'Memory allocated and not yet released',
       json_object('gpu', gpu::VARCHAR, 'kind', memory_kind)::VARCHAR, bytes
FROM held
UNION ALL
SELECT 'cupti_etl_pm', 'gauge', '', 'Mean of a PM metric over the last ten seconds',
       json_object('gpu', gpu::VARCHAR, 'metric', metric, 'unit', coalesce(unit, ''))::VARCHAR,
       value
FROM _pm_mean((SELECT max(end_ns) - 10000000000 FROM pm_value))
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

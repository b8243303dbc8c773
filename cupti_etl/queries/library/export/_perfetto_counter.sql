-- The counters of a Perfetto trace, in no order.
--
-- computed: PM metrics (pm_value), clocks, temperature and power (environment) and memory in use
--   (memory_timeline), each from its time on.
-- limits: Between samples, the value of the one before is shown.
-- columns:
--   counter_key UBIGINT: What tells it from others.
--   gpu BIGINT: The GPU, as in gpu; -1 for what is of a process.
--   process_place BIGINT: The process, as in _export_process; -1 for what is of a GPU.
--   counter VARCHAR: Its name.
--   unit VARCHAR: Unit of its values; NULL if it is not known.
--   timestamp_ns BIGINT [epoch ns]: When it had the value.
--   value DOUBLE: The value.
WITH gpus AS (
    SELECT device_uuid, min(gpu) AS gpu FROM gpu GROUP BY device_uuid
),
devices AS (
    SELECT process_id, device_id, min(gpu) AS gpu FROM gpu GROUP BY process_id, device_id
),
readings AS (
    SELECT process_id, device_id, timestamp_ns,
           unnest(['SM clock', 'memory clock', 'temperature', 'power']) AS counter,
           unnest(['MHz', 'MHz', 'C', 'W']) AS unit,
           unnest([sm_clock_mhz, memory_clock_mhz, gpu_temperature_c, power_mw / 1000]) AS value
    FROM environment
)
SELECT hash(gpu, process_place, counter) AS counter_key, *
FROM (
    SELECT coalesce(gpus.gpu, 0) AS gpu, -1::BIGINT AS process_place, metric AS counter, unit,
           start_ns AS timestamp_ns, value
    FROM pm_value
    LEFT JOIN gpus USING (device_uuid)
    LEFT JOIN _pm_column USING (metric)
    WHERE start_ns >= 0
    UNION ALL
    SELECT coalesce(devices.gpu, readings.device_id, 0), -1, counter, unit, timestamp_ns, value
    FROM readings
    LEFT JOIN devices USING (process_id, device_id)
    WHERE value IS NOT NULL AND timestamp_ns >= 0
    UNION ALL
    SELECT -1, coalesce(processes.place, 0),
           concat('memory in use', ' on device ' || device_id, ': ',
                  replace(memory_kind, '_', ' ')),
           'bytes', timestamp_ns, in_use_bytes
    FROM memory_timeline AS memory
    LEFT JOIN _export_process AS processes ON processes.process_id = memory.process_id
    WHERE timestamp_ns >= 0
)

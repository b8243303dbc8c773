-- The GPUs of the trace, one row for each process that saw them: a small number for each GPU.
--
-- computed: Rows of device, with their ordinals where no two GPUs have the same, else numbered by
--   host, ordinal, rank and UUID, and where that is not known by when the process began. Processes
--   that share a GPU give it the same number; where no UUID is known, each process has GPUs of its
--   own.
-- limits: A GPU of which no device record is known is not here; queries number it below zero.
-- scope: whole
-- columns:
--   gpu BIGINT: Number of the GPU in this trace.
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the GPU in that process.
--   device_uuid VARCHAR: The GPU across processes and hosts; NULL if it is not known.
--   device_name VARCHAR: Product name.
--   host VARCHAR: Host of the process, as it names itself.
WITH seen AS (
    SELECT device.process_id, device_id, any_value(device_uuid) AS device_uuid,
           any_value(name) AS device_name, any_value(host) AS host, any_value(rank) AS rank,
           min(start_ns) AS start_ns,
           coalesce(any_value(device_uuid), concat(device.process_id, ' ', device_id)) AS key
    FROM device
    LEFT JOIN process ON process.process_id = device.process_id
    GROUP BY device.process_id, device_id
),
keys AS (
    SELECT key, min(device_id) AS ordinal,
           row_number() OVER (
               ORDER BY min(host), min(device_id), min(rank), min(device_uuid), min(start_ns), key
           ) - 1 AS place
    FROM seen
    GROUP BY key
)
SELECT CASE WHEN (SELECT count(DISTINCT ordinal) = count(*) AND min(ordinal) >= 0 FROM keys)
            THEN ordinal ELSE place END::BIGINT AS gpu,
       process_id, device_id, device_uuid, device_name, host
FROM seen
JOIN keys USING (key)

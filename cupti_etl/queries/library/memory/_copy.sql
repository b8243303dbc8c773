-- Copies of memcpy and memcpy_p2p, each with its size class.
--
-- computed: One row a copy.
-- lookup: gpu_interval
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL if nothing finished on it.
--   copy_kind VARCHAR: Direction, such as HtoD.
--   src_kind VARCHAR: Kind of memory read, such as pinned.
--   dst_kind VARCHAR: Kind of memory written.
--   class INTEGER: 0 to 4, by size: up to 4 KiB, 64 KiB, 1 MiB, 16 MiB, or above; NULL if not
--     known.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
--   ns BIGINT [ns]: Its duration; NULL if it is not finished.
--   copied BIGINT [bytes]: Its size; NULL if it is not finished, or not known.
--   peak_kbps BIGINT [kilobytes/s]: Peak bandwidth of the device's memory, of a copy inside it.
WITH peaks AS (
    SELECT process_id, device_id, any_value(global_memory_bandwidth_kbps) AS peak_kbps
    FROM device
    GROUP BY process_id, device_id
),
copies AS (
    FROM memcpy UNION ALL BY NAME FROM memcpy_p2p
),
gpus AS (
    SELECT DISTINCT process_id, device_id, gpu
    FROM gpu_interval
    WHERE kind IN ('memcpy', 'memcpy_p2p')
)
SELECT gpu, copy_kind, src_kind, dst_kind,
       CASE WHEN bytes <= 4096 THEN 0 WHEN bytes <= 65536 THEN 1 WHEN bytes <= 1048576 THEN 2
            WHEN bytes <= 16777216 THEN 3 WHEN bytes > 16777216 THEN 4 END AS class,
       start_ns, end_ns, end_ns - start_ns AS ns,
       CASE WHEN end_ns - start_ns IS NOT NULL THEN bytes END AS copied,
       CASE WHEN copy_kind = 'DtoD' THEN peak_kbps END AS peak_kbps
FROM copies
LEFT JOIN peaks ON peaks.process_id = copies.process_id AND peaks.device_id = copies.device_id
LEFT JOIN gpus ON gpus.process_id = copies.process_id AND gpus.device_id = copies.device_id

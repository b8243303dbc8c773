-- Copies of memcpy and memcpy_p2p, each with its size class and its time beside kernels.
--
-- computed: One row a copy; of its time, what lies within _busy_interval of compute and
--   communication on the same GPU.
-- lookup: gpu_interval, _busy_interval
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL if nothing finished on it.
--   copy_kind VARCHAR: Direction, such as HtoD.
--   src_kind VARCHAR: Kind of memory read, such as pinned.
--   dst_kind VARCHAR: Kind of memory written.
--   class INTEGER: 0 to 4, by size: up to 4 KiB, 64 KiB, 1 MiB, 16 MiB, or above; NULL if not
--     known.
--   ns BIGINT [ns]: Its duration; NULL if it is not finished.
--   copied BIGINT [bytes]: Its size; NULL if it is not finished, or not known.
--   peak_kbps BIGINT [kilobytes/s]: Peak bandwidth of the device's memory, of a copy inside it.
--   beside_ns BIGINT [ns]: Of ns, time with a kernel on the same GPU.
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
),
kernels AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns
    FROM _busy_interval
    WHERE work = 'compute_or_communication'
),
sized AS (
    SELECT copies.*, gpu, copies.end_ns - copies.start_ns AS ns,
           CASE WHEN ns IS NOT NULL THEN bytes END AS copied,
           CASE WHEN copy_kind = 'DtoD' THEN peak_kbps END AS peak_kbps,
           CASE WHEN bytes <= 4096 THEN 0 WHEN bytes <= 65536 THEN 1 WHEN bytes <= 1048576 THEN 2
                WHEN bytes <= 16777216 THEN 3 WHEN bytes > 16777216 THEN 4 END AS class
    FROM copies
    LEFT JOIN peaks ON peaks.process_id = copies.process_id AND peaks.device_id = copies.device_id
    LEFT JOIN gpus ON gpus.process_id = copies.process_id AND gpus.device_id = copies.device_id
)
SELECT sized.gpu, copy_kind, src_kind, dst_kind, class, ns, copied, peak_kbps,
       -- Time with kernels up to the end of a copy, less that up to its start.
       coalesce(till.busy_before_ns + least(sized.end_ns, till.end_ns) - till.start_ns, 0)
       - coalesce(since.busy_before_ns + least(sized.start_ns, since.end_ns) - since.start_ns,
                  0) AS beside_ns
FROM sized
ASOF LEFT JOIN kernels AS since
    ON since.gpu = sized.gpu
    AND since.start_ns <= sized.start_ns
ASOF LEFT JOIN kernels AS till ON till.gpu = sized.gpu AND till.start_ns <= sized.end_ns

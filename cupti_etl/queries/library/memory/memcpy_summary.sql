-- Memory copies by direction, kinds of memory and size: how many, how much, how long, how fast.
--
-- computed: Finished copies of memcpy and memcpy_p2p by copy_kind, src_kind, dst_kind and size
--   class. Times are sums of durations: copies that overlap each count in full. Rates are bytes
--   over time while copying, of copies whose size is known. Beside kernels is the part of the
--   copies' time within _busy_interval of compute and communication on the same GPU.
-- needs: memcpy, memcpy_p2p, device, gpu_interval, _busy_interval
-- requires:
--   gpu_activity: no GPU activity was recorded.
-- materialized: Made once for an opened trace, as each copy is looked for beside all kernels.
-- limits: One record may stand for several copies that CUPTI merged (memcpy.copy_count). The peak
--   of a link is not known to CUPTI, so only copies inside a device are compared with one.
-- front: What was copied, how much and how fast?
-- first: percent, total_ns, bytes, copies, rate_gbps, peak_pct, beside_kernels_pct, copy_kind
-- label: copy_kind = copy(src_kind, dst_kind, size)
-- chart: bars(copy_kind, total_ns)
-- example: cupti-etl query memcpy_summary TRACE
-- alias: cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, gpumemtimesum, get_memory_bw_summary
-- lookup: gpu_interval, _busy_interval
-- columns:
--   copy_kind VARCHAR: Direction, such as HtoD.
--   src_kind VARCHAR: Kind of memory read, such as pinned.
--   dst_kind VARCHAR: Kind of memory written.
--   size VARCHAR: Up to 4 KiB, 64 KiB, 1 MiB, 16 MiB, or above; NULL if not known.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over all copies.
--   copies BIGINT [copies]: Finished copies.
--   bytes BIGINT [bytes]: Bytes they copied; NULL if not known.
--   total_ns BIGINT [ns]: Sum of their durations.
--   beside_kernels_ns BIGINT [ns]: Of total_ns, time with a kernel on the same GPU; NULL if no
--     kernels were recorded.
--   beside_kernels_pct DOUBLE [%]: beside_kernels_ns as a share of total_ns.
--   rate_gbps DOUBLE [gigabytes/s]: Bytes over total_ns, in 10^9 bytes a second.
--   rate_median_gbps DOUBLE [gigabytes/s]: Median of the rates of single copies.
--   rate_p99_gbps DOUBLE [gigabytes/s]: 99th percentile of them.
--   peak_pct DOUBLE [%]: Bytes read and written a second as a share of the device's peak memory
--     bandwidth; only for copies inside a device.
--   mean_bytes DOUBLE [bytes]: Mean size.
--   mean_ns DOUBLE [ns]: Mean duration.
--   min_ns BIGINT [ns]: Shortest duration.
--   max_ns BIGINT [ns]: Longest duration.
--   unfinished BIGINT [copies]: Copies without a start or end, which count nowhere else.
WITH peaks AS (
    SELECT process_id, device_id, any_value(global_memory_bandwidth_kbps) AS peak_kbps
    FROM device
    GROUP BY process_id, device_id
),
copies AS (
    SELECT process_id, device_id, copy_kind, src_kind, dst_kind, bytes, start_ns, end_ns
    FROM memcpy
    UNION ALL
    SELECT process_id, device_id, copy_kind, src_kind, dst_kind, bytes, start_ns, end_ns
    FROM memcpy_p2p
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
),
-- Time with kernels up to the end of a copy, less that up to its start.
beside AS (
    SELECT sized.*,
           coalesce(till.busy_before_ns + least(sized.end_ns, till.end_ns) - till.start_ns, 0)
           - coalesce(since.busy_before_ns + least(sized.start_ns, since.end_ns) - since.start_ns,
                      0) AS beside_ns
    FROM sized
    ASOF LEFT JOIN kernels AS since
        ON since.gpu = sized.gpu
        AND since.start_ns <= sized.start_ns
    ASOF LEFT JOIN kernels AS till ON till.gpu = sized.gpu AND till.start_ns <= sized.end_ns
),
seen AS (
    SELECT count(*) > 0 AS has_kernels FROM kernels
)
SELECT copy_kind, src_kind, dst_kind,
       CASE class WHEN 0 THEN '<= 4 KiB' WHEN 1 THEN '<= 64 KiB' WHEN 2 THEN '<= 1 MiB'
            WHEN 3 THEN '<= 16 MiB' WHEN 4 THEN '> 16 MiB' END AS size,
       100.0 * coalesce(sum(ns), 0) / nullif(sum(sum(ns)) OVER (), 0) AS percent,
       count(ns) AS copies,
       TRY_CAST(CASE WHEN class IS NOT NULL THEN coalesce(sum(copied), 0) END AS BIGINT) AS bytes,
       TRY_CAST(coalesce(sum(ns), 0) AS BIGINT) AS total_ns,
       TRY_CAST(CASE WHEN any_value(has_kernels)
            THEN coalesce(sum(beside_ns) FILTER (WHERE ns > 0), 0) END AS BIGINT)
                AS beside_kernels_ns,
       100.0 * beside_kernels_ns / nullif(total_ns, 0) AS beside_kernels_pct,
       -- Bytes a nanosecond are gigabytes a second.
       (sum(copied) / nullif(sum(ns), 0))::DOUBLE AS rate_gbps,
       median(copied / nullif(ns, 0)) AS rate_median_gbps,
       quantile_cont(copied / nullif(ns, 0), 0.99) AS rate_p99_gbps,
       -- 10^3 bytes a second are a millionth of a byte a nanosecond.
       100.0 * 2 * sum(copied) / nullif(sum(ns), 0) / nullif(any_value(peak_kbps) / 1e6, 0)
           AS peak_pct,
       avg(copied) AS mean_bytes,
       avg(ns) AS mean_ns,
       min(ns) AS min_ns,
       max(ns) AS max_ns,
       count(*) - count(ns) AS unfinished
FROM beside, seen
GROUP BY copy_kind, src_kind, dst_kind, class
ORDER BY total_ns DESC, copy_kind, src_kind, dst_kind, class

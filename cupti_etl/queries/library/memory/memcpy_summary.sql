-- Memory copies by direction, kinds of memory and size: how many, how much, how long, how fast.
--
-- computed: Finished copies of memcpy and memcpy_p2p by copy_kind, src_kind, dst_kind and size
--   class. Times are sums of durations: copies that overlap each count in full. Rates are bytes
--   over time while copying, of copies whose size is known. Beside kernels is the part of the
--   copies' time within _busy_interval of compute and communication on the same GPU.
-- requires: gpu_activity
-- none: no copies were recorded.
-- materialized: Made once for an opened trace, as each copy is looked for beside all kernels.
-- limits: One record may stand for several copies that CUPTI merged (memcpy.copy_count). The peak
--   of a link is not known to CUPTI, so only copies inside a device are compared with one.
-- front: What was copied, how much and how fast?
-- first: percent, total_ns, bytes, copies, rate_gbps, peak_pct, beside_kernels_pct, copy_kind
-- label: copy_kind = copy(src_kind, dst_kind, size)
-- chart: bars(copy_kind, total_ns)
-- alias: cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, gpumemtimesum, get_memory_bw_summary
-- lookup: _busy_interval
-- approximate: rate_median_gbps, rate_p99_gbps
-- columns:
--   copy_kind, src_kind, dst_kind of _copy
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
WITH seen AS (
    SELECT count(*) > 0 AS has_kernels
    FROM _busy_interval
    WHERE work = 'compute_or_communication'
),
-- What is beside kernels has a row for all copies of a kind.
copies AS (
    FROM _copy UNION ALL BY NAME FROM _copy_beside
)
SELECT copy_kind, src_kind, dst_kind,
       CASE class WHEN 0 THEN '<= 4 KiB' WHEN 1 THEN '<= 64 KiB' WHEN 2 THEN '<= 1 MiB'
            WHEN 3 THEN '<= 16 MiB' WHEN 4 THEN '> 16 MiB' END AS size,
       100.0 * coalesce(sum(ns), 0) / nullif(sum(sum(ns)) OVER (), 0) AS percent,
       count(ns) AS copies,
       TRY_CAST(CASE WHEN class IS NOT NULL THEN coalesce(sum(copied), 0) END AS BIGINT) AS bytes,
       TRY_CAST(coalesce(sum(ns), 0) AS BIGINT) AS total_ns,
       TRY_CAST(CASE WHEN any_value(has_kernels)
            THEN coalesce(sum(beside_ns), 0) END AS BIGINT)
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
       count(*) - count(ns) - count(beside_ns) AS unfinished
FROM copies, seen
GROUP BY copy_kind, src_kind, dst_kind, class
ORDER BY total_ns DESC, copy_kind, src_kind, dst_kind, class;

-- partial
SELECT copy_kind, src_kind, dst_kind, class, count(*) - count(beside_ns) AS rows,
       count(ns) AS copies,
       sum(ns) AS total_ns, sum(copied) AS copied, count(copied) AS sized,
       sum(beside_ns) AS beside_ns,
       sketch(copied / nullif(ns, 0)) AS rates, count(copied / nullif(ns, 0)) AS rated,
       min(copied / nullif(ns, 0)) AS least, max(copied / nullif(ns, 0)) AS most,
       any_value(peak_kbps) AS peak_kbps, min(ns) AS min_ns, max(ns) AS max_ns,
       NULL::BOOLEAN AS has_kernels
FROM (FROM _copy UNION ALL BY NAME FROM _copy_beside)
GROUP BY copy_kind, src_kind, dst_kind, class
UNION ALL BY NAME
SELECT count(*) > 0 AS has_kernels
FROM _busy_interval
WHERE work = 'compute_or_communication';

-- merge
WITH seen AS (
    SELECT bool_or(has_kernels) AS has_kernels FROM partial
),
sums AS (
    SELECT copy_kind, src_kind, dst_kind, class, sum(rows)::BIGINT AS rows,
           sum(copies)::BIGINT AS copies, sum(total_ns)::HUGEINT AS ns,
           sum(copied)::HUGEINT AS copied, sum(sized)::BIGINT AS sized,
           coalesce(sum(beside_ns), 0)::HUGEINT AS beside_ns, sum(rated)::BIGINT AS rated,
           min(least) AS least, max(most) AS most, any_value(peak_kbps) AS peak_kbps,
           min(min_ns) AS min_ns, max(max_ns) AS max_ns,
           row_number() OVER (ORDER BY copy_kind, src_kind, dst_kind, class) AS place
    FROM partial
    WHERE rows IS NOT NULL
    GROUP BY copy_kind, src_kind, dst_kind, class
),
placed AS (
    SELECT place, entry.key AS bucket,
           sum(sum(entry.value)) OVER (PARTITION BY place ORDER BY bucket) AS until
    FROM (
        SELECT place, unnest(map_entries(rates)) AS entry
        FROM partial
        JOIN sums
            ON sums.copy_kind IS NOT DISTINCT FROM partial.copy_kind
            AND sums.src_kind IS NOT DISTINCT FROM partial.src_kind
            AND sums.dst_kind IS NOT DISTINCT FROM partial.dst_kind
            AND sums.class IS NOT DISTINCT FROM partial.class
    )
    GROUP BY place, bucket
),
quantiles AS (
    SELECT place, sketch_quantile(bucket, until, rated, 0.5, least, most) AS rate_median_gbps,
           sketch_quantile(bucket, until, rated, 0.99, least, most) AS rate_p99_gbps
    FROM placed
    JOIN sums USING (place)
    GROUP BY place
)
SELECT copy_kind, src_kind, dst_kind,
       CASE class WHEN 0 THEN '<= 4 KiB' WHEN 1 THEN '<= 64 KiB' WHEN 2 THEN '<= 1 MiB'
            WHEN 3 THEN '<= 16 MiB' WHEN 4 THEN '> 16 MiB' END AS size,
       100.0 * coalesce(ns, 0) / nullif(sum(ns) OVER (), 0) AS percent,
       copies,
       TRY_CAST(CASE WHEN class IS NOT NULL THEN coalesce(copied, 0) END AS BIGINT) AS bytes,
       TRY_CAST(coalesce(ns, 0) AS BIGINT) AS total_ns,
       TRY_CAST(CASE WHEN has_kernels THEN beside_ns END AS BIGINT) AS beside_kernels_ns,
       100.0 * beside_kernels_ns / nullif(total_ns, 0) AS beside_kernels_pct,
       (copied / nullif(ns, 0))::DOUBLE AS rate_gbps, rate_median_gbps, rate_p99_gbps,
       100.0 * 2 * copied / nullif(ns, 0) / nullif(peak_kbps / 1e6, 0) AS peak_pct,
       (copied / nullif(sized, 0))::DOUBLE AS mean_bytes,
       (ns / nullif(copies, 0))::DOUBLE AS mean_ns, min_ns, max_ns, rows - copies AS unfinished
FROM sums
CROSS JOIN seen
LEFT JOIN quantiles USING (place)
ORDER BY total_ns DESC, copy_kind, src_kind, dst_kind, class

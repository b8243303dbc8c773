-- Memory copies by direction: how many, how much, how long, how fast.
--
-- computed: Finished copies by copy_kind. Times are sums of durations: copies that overlap each
--   count in full. The rate is bytes over total_ns, a mean while copying.
-- needs: memcpy
-- limits: One record may stand for several copies that CUPTI merged (memcpy.copy_count).
-- columns:
--   copy_kind VARCHAR: Direction, such as HtoD.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over all directions.
--   copies BIGINT [copies]: Finished copies.
--   bytes BIGINT [bytes]: Bytes they copied.
--   total_ns BIGINT [ns]: Sum of their durations.
--   rate_gbps DOUBLE [gigabytes/s]: Bytes over total_ns, in 10^9 bytes a second.
--   mean_bytes DOUBLE [bytes]: Mean size.
--   min_bytes BIGINT [bytes]: Smallest size.
--   max_bytes BIGINT [bytes]: Largest size.
--   mean_ns DOUBLE [ns]: Mean duration.
--   min_ns BIGINT [ns]: Shortest duration.
--   max_ns BIGINT [ns]: Longest duration.
--   unfinished BIGINT [copies]: Copies without a start or end, which count nowhere else.
WITH durations AS (
    SELECT copy_kind, end_ns - start_ns AS duration_ns,
           CASE WHEN end_ns - start_ns IS NOT NULL THEN bytes END AS copied
    FROM memcpy
)
SELECT copy_kind,
       100.0 * coalesce(sum(duration_ns), 0) / nullif(sum(sum(duration_ns)) OVER (), 0) AS percent,
       count(duration_ns) AS copies,
       coalesce(sum(copied), 0)::BIGINT AS bytes,
       coalesce(sum(duration_ns), 0)::BIGINT AS total_ns,
       -- Bytes a nanosecond are gigabytes a second.
       (sum(copied) / nullif(sum(duration_ns), 0))::DOUBLE AS rate_gbps,
       avg(copied) AS mean_bytes,
       min(copied) AS min_bytes,
       max(copied) AS max_bytes,
       avg(duration_ns) AS mean_ns,
       min(duration_ns) AS min_ns,
       max(duration_ns) AS max_ns,
       count(*) - count(duration_ns) AS unfinished
FROM durations
GROUP BY copy_kind
ORDER BY total_ns DESC, copy_kind

-- Time per kernel, over all devices, streams and processes of the trace.
--
-- computed: Finished executions by demangled name. Times are sums of durations: kernels that
--   overlap each count in full.
-- needs: kernel_named
-- limits: The percentage is a share of kernel time, not of wall time; see gpu_busy for that.
-- columns:
--   name VARCHAR: Function name alone.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over all kernels.
--   calls BIGINT [executions]: Finished executions.
--   total_ns BIGINT [ns]: Sum of their durations.
--   mean_ns DOUBLE [ns]: Mean duration.
--   median_ns DOUBLE [ns]: Median duration; the mean of the middle two of an even number.
--   min_ns BIGINT [ns]: Shortest duration.
--   max_ns BIGINT [ns]: Longest duration.
--   stddev_ns DOUBLE [ns]: Standard deviation of the durations, as a sample; NULL for one.
--   unfinished BIGINT [executions]: Executions without a start or end, which count nowhere else.
--   demangled VARCHAR: Name with template and call arguments.
WITH durations AS (
    SELECT demangled, short, end_ns - start_ns AS duration_ns
    FROM kernel_named
)
SELECT any_value(short) AS name,
       100.0 * coalesce(sum(duration_ns), 0) / nullif(sum(sum(duration_ns)) OVER (), 0) AS percent,
       count(duration_ns) AS calls,
       coalesce(sum(duration_ns), 0)::BIGINT AS total_ns,
       avg(duration_ns) AS mean_ns,
       median(duration_ns) AS median_ns,
       min(duration_ns) AS min_ns,
       max(duration_ns) AS max_ns,
       stddev_samp(duration_ns) AS stddev_ns,
       count(*) - count(duration_ns) AS unfinished,
       demangled
FROM durations
GROUP BY demangled
ORDER BY total_ns DESC, demangled

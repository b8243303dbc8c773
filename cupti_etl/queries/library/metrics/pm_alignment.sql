-- How late the PM samples of each GPU are against its activity records, and how sure that is.
--
-- computed: The lag at which the share of each sample that work of some sort was running goes best
--   with some metric (the largest correlation of all sorts and metrics); its error is the spread
--   of that lag between stretches of the trace. Where it cannot be told, 0 is taken.
-- requires: pm_sample
-- materialized: Made once for an opened trace, as the joins with samples read it.
-- native: Plain DuckDB does not estimate the lag, and takes 0.
-- scope: whole
-- columns:
--   device_uuid VARCHAR: The GPU.
--   lag_ns BIGINT [ns]: What joins take off the times of samples; 0 where it is not estimated.
--   stderr_ns DOUBLE [ns]: Standard error of the lag; NULL where it is not estimated.
--   correlation DOUBLE: Of the two signals, at that lag; NULL where it is not estimated.
--   metric VARCHAR: The metric that went best.
--   work VARCHAR: The work that it went with: any, or a kind and name.
--   samples BIGINT [samples]: Samples of the GPU.
--   interval_ns DOUBLE [ns]: Median length of a sample.
--   detail VARCHAR: Why the lag is not estimated; NULL if it is.
SELECT device_uuid, 0::BIGINT AS lag_ns, NULL::DOUBLE AS stderr_ns, NULL::DOUBLE AS correlation,
       NULL::VARCHAR AS metric, NULL::VARCHAR AS work, count(*) AS samples,
       median(end_ns - start_ns) AS interval_ns,
       'only cupti-etl estimates the lag, with its native part' AS detail
FROM pm_sample
WHERE end_ns > start_ns AND device_uuid IS NOT NULL AND (SELECT count(*) FROM pm_metric) > 0
GROUP BY device_uuid

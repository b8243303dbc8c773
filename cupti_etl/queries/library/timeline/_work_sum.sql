-- Work of each device by what it is: how often, how long, how many bytes.
--
-- computed: Finished activities by process, device, kind and name. Times are sums of durations:
--   what overlaps counts in full each time.
-- parameters:
--   from_ns BIGINT = NULL [epoch ns]: Only what ended later; NULL for all.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   process_id BIGINT: The process.
--   device_id, kind, name of gpu_interval
--   calls BIGINT [activities]: Finished activities.
--   total_ns BIGINT [ns]: Sum of their durations.
--   bytes BIGINT [bytes]: Bytes copied or set.
--   first_ns BIGINT [epoch ns]: When the first of them began.
--   last_ns BIGINT [epoch ns]: When the last of them ended.
SELECT any_value(gpu) AS gpu, process_id, device_id, kind, name, count(*) AS calls,
       TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
       TRY_CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes,
       min(start_ns) AS first_ns, max(end_ns) AS last_ns
FROM gpu_interval
WHERE from_ns IS NULL OR end_ns > from_ns
GROUP BY process_id, device_id, kind, name

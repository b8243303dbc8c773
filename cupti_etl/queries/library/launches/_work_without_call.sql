-- How much of the work on GPUs no recorded call asked for.
--
-- computed: The share of the time of finished activities whose call is not in the trace: that began
--   later, or lacks it. Processes of which calls or work were not recorded at all do not count.
-- columns:
--   percent DOUBLE [%]: That share of the time of all; NULL without any.
WITH alone AS (
    SELECT process_id, correlation_id FROM _unpaired_correlation WHERE calls = 0
)
SELECT 100.0 * coalesce(
           sum(end_ns - work.start_ns) FILTER (
               WHERE alone.process_id IS NOT NULL OR work.correlation_id IS NULL
           ), 0
       ) / nullif(sum(end_ns - work.start_ns), 0) AS percent
FROM gpu_activity AS work
ANTI JOIN _process_without_links AS without ON without.process_id = work.process_id
LEFT JOIN alone USING (process_id, correlation_id)
HAVING count(*) > 0

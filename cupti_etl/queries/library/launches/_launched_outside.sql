-- How much of the work on GPUs in a part of a trace was launched by calls that are not in it.
--
-- computed: The share of the time of finished activities whose call is known, and in the trace but
--   not in the part: the host had launched it before. In a whole trace it is none.
-- columns:
--   percent DOUBLE [%]: That share of the time of all; NULL without any.
WITH everything AS (
    SELECT sum(end_ns - start_ns) AS gpu_ns FROM gpu_activity
)
SELECT 100.0 * coalesce(sum(work.end_ns - work.start_ns) FILTER (WHERE calls.start_ns IS NULL), 0)
           / nullif(any_value(everything.gpu_ns), 0) AS percent
FROM launch_to_gpu AS work
CROSS JOIN everything
LEFT JOIN api_call AS calls
    ON calls.process_id = work.process_id
    AND calls.correlation_id = work.correlation_id
    AND calls.start_ns = work.api_start_ns
HAVING count(*) > 0

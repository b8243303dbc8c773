-- Time per callback of CUPTI's, and the GPU time that the calls asked for.
--
-- computed: Callbacks by domain and function. Times of calls are sums of durations: those of
--   several threads each count in full, and a driver call inside a runtime call counts in both.
--   GPU time is the sum of the kernels, copies and memsets with the call's correlation id, so that
--   a runtime call and the driver call inside it have the same.
-- requires:
--   callback_event: no callbacks were kept (capture with --callbacks).
-- limits: Only callbacks that --callbacks asked for are here. The percentage is a share of the
--   listed time, not of wall time.
-- front: What did the callbacks tell?
-- first: percent, total_ns, calls, mean_ns, max_ns, errors, gpu_ns, domain, function
-- chart: bars(function, total_ns)
-- columns:
--   domain VARCHAR: driver, runtime, resource, synchronize, nvtx or state.
--   function VARCHAR: The function that was called, or what happened.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over all functions.
--   calls BIGINT [calls]: Callbacks, a call's two as one.
--   errors BIGINT [calls]: Of these, with a result that is neither success nor "not ready" (600).
--   total_ns BIGINT [ns]: Sum of the durations; 0 for what is no call.
--   mean_ns DOUBLE [ns]: Mean duration; NULL for what is no call.
--   max_ns BIGINT [ns]: Longest duration.
--   bytes BIGINT [bytes]: Bytes that they were about; NULL where they tell none.
--   work BIGINT [executions]: Kernels, copies and memsets on GPUs that they asked for.
--   gpu_ns BIGINT [ns]: GPU time of those.
WITH work AS (
    SELECT process_id, correlation_id, count(*) AS work, sum(end_ns - start_ns) AS gpu_ns
    FROM gpu_interval
    GROUP BY process_id, correlation_id
),
durations AS (
    SELECT event.domain, event.function, event.result, event.bytes, work.work, work.gpu_ns,
           event.end_ns - event.start_ns AS duration_ns
    FROM callback_event AS event
    LEFT JOIN work USING (process_id, correlation_id)
)
SELECT domain,
       function,
       100.0 * coalesce(sum(duration_ns), 0) / nullif(sum(sum(duration_ns)) OVER (), 0) AS percent,
       count(*) AS calls,
       count(*) FILTER (WHERE result NOT IN (0, 600)) AS errors,
       TRY_CAST(coalesce(sum(duration_ns), 0) AS BIGINT) AS total_ns,
       avg(duration_ns) AS mean_ns,
       max(duration_ns) AS max_ns,
       TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
       TRY_CAST(coalesce(sum(work), 0) AS BIGINT) AS work,
       TRY_CAST(coalesce(sum(gpu_ns), 0) AS BIGINT) AS gpu_ns
FROM durations
GROUP BY domain, function
ORDER BY total_ns DESC, calls DESC, domain, function

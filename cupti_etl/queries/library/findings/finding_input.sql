-- How long each GPU was idle while its host waited for input.
--
-- computed: input_ns of idle_summary: the host was outside CUDA, in a range of a data loader. The
--   culprit is the range in which most of it was.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- finding: idle while the host waits for input (measured)
-- advice: load it ahead, with more workers, or less work for each sample
-- shown: idle_summary
SELECT waits.gpu, input_ns AS saved_ns, 'most of it in ' || name AS culprit
FROM (
    SELECT gpu, TRY_CAST(sum(input_ns) AS BIGINT) AS input_ns
    FROM _idle_cause
    WHERE input_ns > 0
    GROUP BY gpu
) AS waits
LEFT JOIN _outside_range AS ranges ON ranges.gpu = waits.gpu AND ranges.state = 'input'

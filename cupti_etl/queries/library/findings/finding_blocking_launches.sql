-- How long launching calls waited for what they had launched, on each GPU.
--
-- computed: Where more than nine of ten kernels, of at least a hundred, had ended when the call
--   that launched them returned: the time from their begin to that return, in which the host could
--   have prepared the next launch. The culprit says how many they are.
-- requires: api_call, launch_to_gpu
-- finding: launches wait for their kernels (estimated)
-- advice: unset CUDA_LAUNCH_BLOCKING (of HIP HIP_LAUNCH_BLOCKING and AMD_SERIALIZE_KERNEL), which
--   is for debugging; a debugger may also be the cause
-- shown: launch_latency
SELECT coalesce(gpu, -1 - TRY_CAST((hash(process_id, device_id) >> 33) AS BIGINT)) AS gpu,
       TRY_CAST(sum(waited_ns) AS BIGINT) AS saved_ns,
       format('{:,} of {:,}', count(waited_ns), count(*)) AS culprit
FROM _launch_time
LEFT JOIN gpu USING (process_id, device_id)
GROUP BY ALL
HAVING count(*) >= 100 AND count(waited_ns) > 0.9 * count(*)

-- How long each GPU was idle while its host was in calls of CUDA that no other finding is about.
--
-- computed: other_cuda_ns of gap_attribution: calls that neither launch, wait, load code nor are
--   about memory. The culprit is the function of CUDA in which most of it was, of all threads
--   together.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- finding: idle while the host is in other calls of CUDA (measured)
-- advice: make contexts, streams, events, graphs and links to other GPUs, and ask for properties,
--   once, before the loop; what libraries call for each launch, a CUDA graph leaves out
-- shown: idle_summary
SELECT sums.gpu, saved_ns, 'above all in ' || name AS culprit
FROM (
    SELECT gpu, TRY_CAST(sum(other_cuda_ns) AS BIGINT) AS saved_ns FROM _gap_cause GROUP BY gpu
) AS sums
LEFT JOIN _idle_call AS longest ON longest.gpu = sums.gpu AND class = 5

-- How long each GPU was idle while its host allocated, freed or copied.
--
-- computed: memory_ns of gap_attribution. The culprit is the function of CUDA in which most of it
--   was, of all threads together.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- finding: idle while the host allocates, frees or copies (measured)
-- advice: allocate once and reuse (also handles and plans of cuBLAS, cuFFT and others, which
--   allocate), or from a pool that keeps what is freed (cudaMemPoolAttrReleaseThreshold); copy and
--   set less often, and more at once; a long first cudaMalloc or cudaFree makes a context or loads
--   a library: measure after a warm-up
-- shown: idle_summary
SELECT sums.gpu, saved_ns, 'above all in ' || name AS culprit
FROM (
    SELECT gpu, TRY_CAST(sum(memory_ns) AS BIGINT) AS saved_ns FROM _gap_cause GROUP BY gpu
) AS sums
LEFT JOIN _idle_call AS longest ON longest.gpu = sums.gpu AND class = 3

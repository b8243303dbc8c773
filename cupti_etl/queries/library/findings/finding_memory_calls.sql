-- How long each GPU was idle while its host allocated, freed or copied.
--
-- computed: memory_ns of gap_attribution. The culprit is the kernel or copy before which most of
--   it was.
-- needs: _idle_culprit
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap: no GPU was idle between two recorded activities.
-- finding: idle while the host allocates, frees or copies (measured)
-- advice: allocate once and reuse, or use a pool
-- shown: gap_attribution
-- label: kernel = kernel(kernel)
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; a kernel, if it ends with one, is in the next column.
--   kernel VARCHAR: Mangled name of that kernel, or what else it is; NULL if that is not known.
SELECT gpu, idle_ns AS saved_ns, 'most of it before' AS culprit, kernel
FROM _idle_culprit
WHERE state = 'memory'

-- How long each GPU was idle while its host compiled.
--
-- computed: The time of compiling in _outside_range. The culprit is the module of XLA, or the
--   range, with most of it, or where there is none the kernel before which most of it was.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- finding: idle while the host compiles (measured)
-- advice: compile once: keep shapes, types and other static arguments the same (pad what varies),
--   make functions with jax.jit or torch.compile outside the loop, and keep what was compiled
--   (jax_compilation_cache_dir, the caches of Inductor and Triton)
-- shown: gap_attribution
-- label: kernel = kernel(kernel)
SELECT gpu, total_ns AS saved_ns, 'above all ' || coalesce(name, 'before') AS culprit,
       CASE WHEN name IS NULL THEN kernel END AS kernel
FROM _outside_range
WHERE state = 'compiling'

-- Processes with kernels whose steps can only be guessed, as no ranges are steps.
--
-- computed: Those of kernel that _step_range does not have; none where no kernel ran as often as
--   _step_guess wants.
-- materialized: In many traces none is left, and a guess goes over all kernels.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT DISTINCT process_id
FROM kernel
ANTI JOIN _step_range USING (process_id)
WHERE EXISTS (FROM _kernel_told WHERE executions >= 5)

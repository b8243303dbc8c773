-- What kernels cost that do not fill the device.
--
-- computed: wasted_ns of kernel_waves, of kernels with less than one wave. The culprit is the
--   kernel with most of it.
-- needs: kernel_waves
-- requires:
--   kernel: no kernels were recorded.
--   _device_limits: the trace does not say what its devices can hold.
-- finding: kernels do not fill the device (estimated)
-- advice: give them more blocks, or run several at once
-- shown: kernel_waves
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
SELECT NULL::BIGINT AS gpu, TRY_CAST(sum(wasted_ns) AS BIGINT) AS saved_ns,
       concat(count(*), ' names and shapes, most of it in ',
              arg_min(concat(name, ' (grid ', grid, ')'), (-wasted_ns, name, grid))) AS culprit
FROM kernel_waves
WHERE verdict = 'less than one wave'
HAVING count(*) > 0

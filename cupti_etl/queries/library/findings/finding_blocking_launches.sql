-- How long launching calls waited for what they had launched, on each GPU.
--
-- computed: waited_ns of short_kernels, where more than nine of ten launches, of at least a
--   hundred, returned when their kernel had ended: the host could have prepared the next one
--   meanwhile. The culprit says how many they are.
-- requires: api_call, launch_to_gpu
-- finding: launches wait for their kernels (estimated)
-- advice: unset CUDA_LAUNCH_BLOCKING (of HIP HIP_LAUNCH_BLOCKING and AMD_SERIALIZE_KERNEL), which
--   is for debugging; a debugger may also be the cause
-- shown: short_kernels
SELECT gpu, waited_ns AS saved_ns, format('{:,} of {:,}', waits, launches) AS culprit
FROM short_kernels
WHERE launches >= 100 AND waits > 0.9 * launches

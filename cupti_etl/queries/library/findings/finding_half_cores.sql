-- What matrix products and convolutions of floats cost on each GPU that halves would not.
--
-- computed: Those of _wider_type that compute plain floats on a chip without TF32, or on
--   which it is no faster. The culprit is the kernel with most of their time.
-- requires:
--   kernel
--   _chip: it is not known what the chip of the GPU can do.
-- finding: matrices of floats are multiplied without tensor cores (estimated)
-- advice: compute in float16 (in PyTorch torch.autocast), where results may be less exact; TF32
--   would not be faster on this chip
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT gpu, saved_ns, culprit, kernel
FROM _wider_type
WHERE NOT is_double AND NOT has_tf32 AND saved_ns > 0

-- What matrix products and convolutions of floats cost on each GPU that TF32 would not.
--
-- computed: Those of _wider_type that compute plain floats on a chip with TF32. The culprit is
--   the kernel with most of their time.
-- requires:
--   kernel
--   _chip: it is not known what the chip of the GPU can do.
-- finding: matrices of floats are multiplied without tensor cores (estimated)
-- advice: allow TF32 (in PyTorch torch.set_float32_matmul_precision("high"), and
--   torch.backends.cudnn.allow_tf32 for convolutions), or compute in bfloat16 or float16
--   (torch.autocast), where results may be less exact
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT gpu, saved_ns, culprit, kernel
FROM _wider_type
WHERE NOT is_double AND has_tf32 AND saved_ns > 0

-- What attention costs on each GPU that is computed in floats.
--
-- computed: saved_ns of _slow_kernel. The culprit is the kernel with most of it.
-- requires: kernel
-- limits: PyTorch and xFormers have them. TF32 changes nothing of it.
-- finding: attention is computed in floats (estimated)
-- advice: compute it in bfloat16 or float16 (in PyTorch torch.autocast, or queries, keys and values
--   .to(torch.bfloat16)), for which there are faster kernels
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT gpu, saved_ns, culprit, kernel
FROM _slow_kernel
WHERE what = 'float_attention'

-- What depthwise convolutions of halves cost on each GPU in kernels of PyTorch's own.
--
-- computed: saved_ns of _slow_kernel. The culprit is the kernel with most of it.
-- requires: kernel
-- limits: Of 14x14 pixels and fewer, the host or other kernels take longer. Of floats nothing is
--   said: with channels last, 7x7 takes twice as long.
-- finding: depthwise convolutions are not those of cuDNN (estimated)
-- advice: keep the data with channels last (in PyTorch both the model and what goes into it
--   .to(memory_format=torch.channels_last)), for which cuDNN has faster kernels
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT gpu, saved_ns, culprit, kernel
FROM _slow_kernel
WHERE what = 'depthwise'

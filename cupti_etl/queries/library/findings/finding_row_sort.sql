-- What it costs on each GPU to sort long rows as a whole.
--
-- computed: saved_ns of _slow_kernel. The culprit is the kernel with most of it.
-- requires: kernel
-- limits: PyTorch sorts many long rows so. Whether all of the order is needed is not known; of
--   short rows, and of one alone, topk saves little.
-- finding: long rows are sorted as a whole (estimated)
-- advice: where only the first of each are needed, as to sample the next word, take these (in
--   PyTorch topk, in JAX jax.lax.top_k)
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT gpu, saved_ns, culprit, kernel
FROM _slow_kernel
WHERE what = 'row_sort'

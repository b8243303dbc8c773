-- What it costs on each GPU to sort long rows as a whole.
--
-- computed: Time of CUB's segmented radix sort, no more than the GPU computed, times 3/4: what
--   topk saved on an H100, of 1 to 500 values of rows of 8192 and 32000 (66 to 80 %). The culprit
--   is the kernel with most of it.
-- requires: kernel
-- limits: PyTorch sorts many long rows so. Whether all of the order is needed is not known; of
--   short rows, and of one alone, topk saves little.
-- finding: long rows are sorted as a whole (estimated)
-- advice: where only the first of each are needed, as to sample the next word, take these (in
--   PyTorch topk, in JAX jax.lax.top_k)
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT times.gpu, TRY_CAST(least(sum(total_ns), any_value(compute_ns)) * 3 / 4 AS BIGINT)
           AS saved_ns,
       CASE WHEN count(*) > 1 THEN 'most' ELSE 'all' END || ' of it in' AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM _kernel_time AS times
JOIN busy_breakdown AS busy ON busy.gpu = times.gpu
WHERE contains(name, 'DeviceSegmentedRadixSort')
GROUP BY times.gpu

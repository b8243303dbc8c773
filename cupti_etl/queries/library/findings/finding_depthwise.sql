-- What depthwise convolutions of halves cost on each GPU in kernels of PyTorch's own.
--
-- computed: Time of the kernels conv_depthwise2d of halves, no more than the GPU computed, times
--   2/3: what cuDNN's saved on an H100 with channels last (45 to 73 % forward, 62 to 76 % with the
--   backward pass). The culprit is the one with most of it.
-- requires: kernel
-- limits: Of 14x14 pixels and fewer, the host or other kernels take longer. Of floats nothing is
--   said: with channels last, 7x7 takes twice as long.
-- finding: depthwise convolutions are not those of cuDNN (estimated)
-- advice: keep the data with channels last (in PyTorch both the model and what goes into it
--   .to(memory_format=torch.channels_last)), for which cuDNN has faster kernels
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT times.gpu, TRY_CAST(least(sum(total_ns), any_value(compute_ns)) * 2 / 3 AS BIGINT)
           AS saved_ns,
       CASE WHEN count(*) > 1 THEN 'most' ELSE 'all' END || ' of it in' AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM _kernel_time AS times
JOIN busy_breakdown AS busy ON busy.gpu = times.gpu
WHERE contains(name, 'conv_depthwise2d') AND regexp_matches(name, 'BFloat16|Half')
GROUP BY times.gpu

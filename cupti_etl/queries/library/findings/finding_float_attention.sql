-- What attention costs on each GPU that is computed in floats.
--
-- computed: Time of the kernels fmha_cutlass of floats, no more than the GPU computed, times 5/6:
--   what bfloat16 saved on an H100, forward and backward (86 to 93 % of 2048 tokens, 47 to 88 % of
--   512). The culprit is the kernel with most of it.
-- requires: kernel
-- limits: PyTorch and xFormers have them. TF32 changes nothing of it.
-- finding: attention is computed in floats (estimated)
-- advice: compute it in bfloat16 or float16 (in PyTorch torch.autocast, or queries, keys and values
--   .to(torch.bfloat16)), for which there are faster kernels
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
SELECT times.gpu, TRY_CAST(least(sum(total_ns), any_value(compute_ns)) * 5 / 6 AS BIGINT)
           AS saved_ns,
       CASE WHEN count(*) > 1 THEN 'most' ELSE 'all' END || ' of it in' AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM _kernel_time AS times
JOIN busy_breakdown AS busy ON busy.gpu = times.gpu
WHERE regexp_matches(name, 'fmha_cutlass[FB]_f32')
GROUP BY times.gpu

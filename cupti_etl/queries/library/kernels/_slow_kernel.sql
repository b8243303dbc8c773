-- What kernels cost on each GPU that others would do faster.
--
-- computed: Time of kernels whose names meet a row below, no more than the GPU computed, times what
--   the others saved on an H100: bfloat16 of attention in floats, forward and backward (86 to 93 %
--   of 2048 tokens, 47 to 88 % of 512); cuDNN of depthwise convolutions of halves with channels
--   last (45 to 73 % forward, 62 to 76 % with the backward pass); and topk of long rows, if 1 to
--   500 values of 8192 or 32000 are wanted (66 to 80 %).
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   what VARCHAR: float_attention, depthwise or row_sort.
--   saved_ns BIGINT [ns]: That time.
--   culprit VARCHAR: Whether it is one kernel, as a finding says it.
--   kernel VARCHAR: Mangled name of the one with most of the time.
SELECT times.gpu, what,
       TRY_CAST(least(sum(total_ns), any_value(compute_ns)) * any_value(share) AS BIGINT)
           AS saved_ns,
       CASE WHEN count(*) > 1 THEN 'above all' ELSE 'all of it' END || ' in' AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM _kernel_time AS times
JOIN (
    VALUES
        ('float_attention', 'fmha_cutlass[FB]_f32', 5.0 / 6),
        ('depthwise', 'conv_depthwise2d.*(BFloat16|Half)', 2.0 / 3),
        ('row_sort', 'DeviceSegmentedRadixSort', 0.75)
) AS listed(what, pattern, share) ON regexp_matches(name, pattern)
JOIN busy_breakdown AS busy ON busy.gpu = times.gpu
GROUP BY times.gpu, what

-- What it costs on each GPU that sizes of matrices or numbers of channels are no multiples of 8.
--
-- computed: Time of matrix products that load one or two values at once (aligned_values of
--   kernel_rule, where tensor cores want 16 bytes), times what sizes that are multiples of 8 saved
--   on an H100: 5/6 of products of halves that load one value, 2/3 of two, and 3/5 of floats; half
--   of that on chips before Hopper, whose aligned kernels are less fast. With it the time of
--   kernels that copy for a padding of channels; of all this no more than the GPU computed. The
--   culprit is the kernel with most of the time.
-- requires: kernel
-- limits: Doubles, of which two are 16 bytes, are left out. It goes by names of CUTLASS, which
--   cuBLAS takes for such sizes.
-- finding: sizes of matrices or numbers of channels are no multiples of 8 (estimated)
-- advice: pad them (the width of layers, channels, the vocabulary, the batch) to multiples of 8, or
--   better 64, such as a vocabulary of 50304 for one of 50257
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
WITH chips AS (
    SELECT gpu, any_value(compute_capability_major) < 9 AS is_old
    FROM gpu
    JOIN device ON device.process_id = gpu.process_id AND device.device_id = gpu.device_id
    GROUP BY gpu
),
unaligned AS (
    SELECT times.gpu, name, total_ns,
           CASE WHEN aligned_values IS NULL THEN 1
                WHEN NOT regexp_matches(name, 'f16|fp16|h16') THEN 0.6
                WHEN aligned_values = 1 THEN 5.0 / 6 ELSE 2.0 / 3 END
           / CASE WHEN aligned_values IS NOT NULL AND is_old THEN 2 ELSE 1 END AS share
    FROM _kernel_time AS times
    JOIN kernel_rule ON mangled = name
    LEFT JOIN chips ON chips.gpu = times.gpu
    WHERE aligned_values <= 2 AND NOT is_double OR copies_for = 'padding'
)
SELECT unaligned.gpu,
       TRY_CAST(least(1, any_value(compute_ns) / sum(total_ns)) * sum(total_ns * share) AS BIGINT)
           AS saved_ns,
       CASE WHEN count(*) > 1 THEN concat(count(*), ' kernels, above all in')
            ELSE 'all of it in' END AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM unaligned
JOIN busy_breakdown AS busy ON busy.gpu = unaligned.gpu
GROUP BY unaligned.gpu

-- What kernels cost on each GPU that compute doubles, or products of plain floats.
--
-- computed: Time of kernels that are is_double or is_plain_float (kernel_rule), no more than the
--   GPU computed. Of matrix products and convolutions it is less what their operations would take
--   at the peak of the tensor cores instead: of doubles at that of floats (TF32 where the chip has
--   it), of floats at that of TF32, or of halves where TF32 is no faster; on chips that are not
--   known, nothing. Of other kernels of doubles it is half, as floats have half as many bytes.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   is_double BOOLEAN: Whether they compute doubles.
--   has_tf32 BOOLEAN: Whether TF32 is faster on the chip than plain floats; NULL if not known.
--   saved_ns BIGINT [ns]: That time.
--   culprit VARCHAR: How many kernels they are, as a finding says it.
--   kernel VARCHAR: Mangled name of the one with most of the time.
WITH peaks AS (
    SELECT gpu, any_value(coalesce(fp64, 0)) AS fp64, any_value(fp32) AS fp32,
           any_value(tf32) AS tf32, any_value(fp16) AS fp16
    FROM _chip
    JOIN gpu ON gpu.process_id = _chip.process_id AND gpu.device_id = _chip.device_id
    GROUP BY gpu
),
wider AS (
    SELECT times.gpu, name, is_double, tf32 > fp32 AS has_tf32, total_ns,
           CASE WHEN rule.category NOT IN ('gemm', 'convolution') THEN 0.5
                WHEN is_double THEN 1 - fp64 / tf32
                WHEN tf32 > fp32 THEN 1 - fp32 / tf32
                ELSE 1 - fp32 / fp16 END AS share
    FROM _kernel_time AS times
    JOIN kernel_rule AS rule ON mangled = name
    LEFT JOIN peaks ON peaks.gpu = times.gpu
    WHERE (is_plain_float OR is_double) AND share > 0
)
SELECT wider.gpu, is_double, any_value(has_tf32) AS has_tf32,
       TRY_CAST(sum(total_ns * share) * least(1, any_value(compute_ns) / nullif(sum(total_ns), 0))
           AS BIGINT) AS saved_ns,
       CASE WHEN count(*) > 1 THEN concat(count(*), ' kernels, above all in')
            ELSE 'all of it in' END AS culprit,
       arg_max(name, (total_ns * share, name)) AS kernel
FROM wider
JOIN busy_breakdown AS busy ON busy.gpu = wider.gpu
GROUP BY wider.gpu, is_double

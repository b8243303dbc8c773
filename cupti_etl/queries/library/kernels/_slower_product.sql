-- What matrix products and convolutions cost on each GPU that compute doubles, or plain floats.
--
-- computed: Time of kernels that are is_double or is_plain_float (kernel_rule), no more than the
--   GPU computed, less what their operations would take at the peak of the tensor cores instead:
--   of doubles at that of floats (TF32 where the chip has it), of floats at that of TF32, or of
--   halves where TF32 is no faster.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   is_double BOOLEAN: Whether they compute doubles.
--   has_tf32 BOOLEAN: Whether TF32 is faster on the chip than plain floats.
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
slower AS (
    SELECT gpu, is_double, count(*) AS n, sum(total_ns) AS total_ns,
           arg_max(name, (total_ns, name)) AS kernel
    FROM _kernel_time
    JOIN kernel_rule ON mangled = name
    WHERE is_plain_float OR is_double
    GROUP BY gpu, is_double
)
SELECT slower.gpu, is_double, tf32 > fp32 AS has_tf32,
       TRY_CAST(least(total_ns, compute_ns)
           * (1 - CASE WHEN is_double THEN fp64 / tf32
                       WHEN tf32 > fp32 THEN fp32 / tf32
                       ELSE fp32 / fp16 END) AS BIGINT) AS saved_ns,
       CASE WHEN n > 1 THEN concat(n, ' kernels, most of it in') ELSE 'all of it in' END
           AS culprit,
       kernel
FROM slower
JOIN peaks ON peaks.gpu = slower.gpu
JOIN busy_breakdown AS busy ON busy.gpu = slower.gpu

-- What matrix products and convolutions of floats cost on each GPU without its tensor cores.
--
-- computed: Time of kernels that are is_plain_float (kernel_rule), no more than the GPU computed,
--   less what their operations would take at the peak of the tensor cores instead of that of
--   floats: in TF32, or in halves on chips without TF32. The culprit is the kernel with most of
--   that time.
-- requires:
--   kernel
--   _chip: it is not known what the chip of the GPU can do.
-- finding: matrices of floats are multiplied without tensor cores (estimated)
-- advice: allow TF32 (in PyTorch torch.set_float32_matmul_precision("high"), and
--   torch.backends.cudnn.allow_tf32 for convolutions), or compute in bfloat16 or float16
--   (torch.autocast), where results may be less exact
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
WITH faster AS (
    SELECT gpu, any_value(1 - fp32 / CASE WHEN tf32 > fp32 THEN tf32 ELSE fp16 END) AS share
    FROM _chip
    JOIN gpu ON gpu.process_id = _chip.process_id AND gpu.device_id = _chip.device_id
    GROUP BY gpu
),
plain AS (
    SELECT gpu, count(*) AS n, sum(total_ns) AS total_ns, arg_max(name, (total_ns, name)) AS kernel
    FROM _kernel_time
    JOIN kernel_rule ON mangled = name
    WHERE is_plain_float
    GROUP BY gpu
)
SELECT plain.gpu, TRY_CAST(least(total_ns, compute_ns) * share AS BIGINT) AS saved_ns,
       concat(CASE WHEN n > 1 THEN concat(n, ' kernels, most of it in') ELSE 'all of it in' END)
           AS culprit,
       kernel
FROM plain
JOIN faster ON faster.gpu = plain.gpu
JOIN busy_breakdown AS busy ON busy.gpu = plain.gpu
WHERE share > 0

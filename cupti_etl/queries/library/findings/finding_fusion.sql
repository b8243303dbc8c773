-- What small steps over the same data cost on each GPU that could be one kernel.
--
-- computed: Of each two kernels that follow one another in a stream, if both are elementwise, a
--   copy, random numbers or a reduction, or one of them a softmax or a normalization, and have
--   different names, the shorter mean duration: fused, its data would be read and written with
--   those of the other. Of several GPUs each has as much of it as of the executions of the first.
--   The culprit is the pair with most of it. Changes of layout (finding_layout), other steps of
--   convolutions, small ones of CUB and copies of lists of tensors do not count.
-- requires: kernel
-- limits: Whether the two work on the same data is not known. Repetitions of one kernel are not
--   counted, as they often work on different data.
-- finding: kernels that only pass over data follow one another (estimated)
-- advice: fuse them: torch.compile, jax.jit, a kernel of Triton or of a library that does all of it
-- shown: kernel_sequences --param length=2 --param min_count=1 --sort total_ns
-- label: kernel = kernel(kernel)
WITH passing AS (
    FROM _kernel_mean
    -- What a convolution does around its kernel is in a library, where nothing can fuse it, as are
    -- the steps of CUB's reductions and scans that are of few values. Copies of many tensors at
    -- once (of weights, gradients) are of other data than what is beside them.
    ANTI JOIN (
        FROM kernel_rule
        WHERE copies_for IN ('layout', 'padding', 'library')
            OR category = 'copy' AND shown = 'multi_tensor_apply_kernel'
            OR shown IN ('DeviceReduceSingleTileKernel', 'DeviceScanInitKernel')
    ) ON mangled = name
    WHERE category IN ('elementwise', 'copy', 'random', 'reduction', 'softmax', 'normalization')
),
pairs AS (
    SELECT first, second, count, count * least(a.mean_ns, b.mean_ns) AS saved_ns
    FROM _kernel_run
    JOIN passing AS a ON a.name = first
    JOIN passing AS b ON b.name = second
    WHERE kernels = 2 AND first <> second
        AND NOT (a.category IN ('softmax', 'normalization')
                 AND b.category IN ('softmax', 'normalization'))
),
shares AS (
    SELECT gpu, sum(saved_ns * gpu_share) AS saved_ns, round(sum(count * gpu_share))::BIGINT AS n,
           arg_max(first, (saved_ns * gpu_share, first, second)) AS kernel
    FROM pairs
    JOIN _kernel_time ON name = first
    GROUP BY gpu
)
SELECT gpu, TRY_CAST(saved_ns AS BIGINT) AS saved_ns,
       CASE WHEN n <= 1 THEN 'once, after' ELSE format('{:,} times, above all after', n) END
           AS culprit, kernel
FROM shares

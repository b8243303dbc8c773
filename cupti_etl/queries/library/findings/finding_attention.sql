-- What attention costs on each GPU between its matrix products, if it is made of several kernels.
--
-- computed: In a stream, kernels of softmax that follow a matrix product and come before one, with
--   at most three others between that only pass over data (scales, masks, dropout): their time and
--   that of those between, by mean durations. Kernels of attention do all of it in one, and do
--   not write what is between to memory. Of several GPUs each has as much of it as of the softmax.
--   The culprit is the kernel of softmax with most of it.
-- requires: kernel
-- limits: A matrix product of less time, as there is with one kernel, is not counted.
-- finding: attention is made of several kernels (estimated)
-- advice: use one that does all of it (in PyTorch scaled_dot_product_attention, and no mask where
--   is_causal=True will do; in JAX jax.nn.dot_product_attention)
-- shown: kernel_sequences --param min_count=1 --sort total_ns
-- label: kernel = kernel(kernel)
WITH passing AS (
    SELECT name FROM _kernel_mean WHERE category IN ('elementwise', 'copy', 'random')
),
runs AS (
    SELECT *, CASE kernels WHEN 2 THEN second WHEN 3 THEN third WHEN 4 THEN fourth ELSE fifth END
                  AS last
    FROM _kernel_run
),
-- From a matrix product to a softmax, or from one to a matrix product.
sides AS (
    SELECT CASE WHEN a.category = 'softmax' THEN first ELSE last END AS softmax,
           a.category = 'softmax' AS is_after, count,
           total_ns - count * (a.mean_ns + b.mean_ns) AS between_ns
    FROM runs
    JOIN _kernel_mean AS a ON a.name = first
    JOIN _kernel_mean AS b ON b.name = last
    LEFT JOIN passing AS two ON two.name = second
    LEFT JOIN passing AS three ON three.name = third
    LEFT JOIN passing AS four ON four.name = fourth
    WHERE (a.category, b.category) IN (('gemm', 'softmax'), ('softmax', 'gemm'))
        AND (kernels < 3 OR two.name IS NOT NULL)
        AND (kernels < 4 OR three.name IS NOT NULL)
        AND (kernels < 5 OR four.name IS NOT NULL)
),
kernels AS (
    SELECT softmax, greatest(sum(between_ns), 0) + any_value(mean_ns)
               * least(sum(count) FILTER (is_after), sum(count) FILTER (NOT is_after)) AS saved_ns
    FROM sides
    JOIN _kernel_mean ON name = softmax
    GROUP BY softmax
    HAVING bool_or(is_after) AND bool_or(NOT is_after)
)
SELECT gpu, TRY_CAST(sum(saved_ns * gpu_share) AS BIGINT) AS saved_ns,
       'above all around' AS culprit,
       arg_max(softmax, (saved_ns * gpu_share, softmax)) AS kernel
FROM kernels
JOIN _kernel_time ON name = softmax
GROUP BY gpu

-- Time by what kernels do: matrix products, attention, communication, normalization and so on.
--
-- computed: Finished executions by GPU and by the first rule that the name meets: the function
--   name, or for some words and for CUTLASS the demangled one. Times are sums of durations: kernels
--   that overlap each count in full.
-- needs: gpu_interval, kernel_name
-- requires:
--   kernel: no kernels were recorded.
-- limits: The rules know names of common libraries and compilers; "other" is what none knows.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   category VARCHAR: communication, attention, gemm, convolution, recurrent, normalization,
--     softmax, embedding, optimizer, sort, reduction, copy, random, elementwise, fused (by a
--     compiler), or other.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over the GPU.
--   names BIGINT [names]: Different kernels.
--   calls BIGINT [executions]: Finished executions.
--   total_ns BIGINT [ns]: Sum of their durations.
--   mean_ns DOUBLE [ns]: Mean duration.
--   longest_name VARCHAR: Function name of the kernel with the largest sum; of CUTLASS, where all
--     functions are called Kernel, that of the operator.
WITH sums AS (
    SELECT gpu, name, any_value(category) AS kind, count(*) AS calls,
           sum(end_ns - start_ns)::BIGINT AS total_ns
    FROM gpu_interval
    WHERE kind = 'kernel'
    GROUP BY gpu, name
),
names AS (
    SELECT mangled, any_value(demangled) AS demangled, any_value(short) AS short
    FROM kernel_name
    GROUP BY mangled
),
ruled AS (
    SELECT *, lower(shown) AS own, lower(whole) AS full_name,
           -- The function of CUTLASS is called Kernel; what it does stands in its arguments.
           lower(CASE WHEN contains(whole, 'cutlass::') THEN whole ELSE shown END) AS what
    FROM (
        SELECT sums.*, coalesce(short, name) AS shown, coalesce(demangled, name) AS whole,
               nullif(regexp_extract(demangled, 'cutlass::\w+<(?:\w+::)*(\w+)', 1), '')
                   AS operator
        FROM sums
        LEFT JOIN names ON names.mangled = sums.name
    )
),
sorted AS (
    SELECT gpu, calls, total_ns, coalesce(operator, shown) AS shown, CASE
        WHEN kind = 'communication' THEN 'communication'
        WHEN regexp_matches(what, 'flash|fmha|attention|attn|mha_|paged_') THEN 'attention'
        WHEN regexp_matches(what,
                            'conv[0-9]*d|convol|winograd|cudnn.*conv|wgrad|dgrad|fprop|im2col')
            OR regexp_matches(own, '[sh]cudnn_[0-9]') THEN 'convolution'
        WHEN regexp_matches(own, 'rnn|gru_|lstm') THEN 'recurrent'
        WHEN regexp_matches(what, 'gemm|gemv|cutlass|nvjet|cublas|matmul|xmma|splitk|dot_kernel')
            THEN 'gemm'
        -- A few words say it wherever they stand, even as a functor of an elementwise kernel.
        WHEN regexp_matches(full_name,
                            'layer_?norm|batch_?norm|rms_?norm|group_?norm|welford|::bn_[fb]w')
            THEN 'normalization'
        WHEN regexp_matches(full_name, 'softmax|cross_entropy|nll_loss') THEN 'softmax'
        WHEN regexp_matches(own, 'multi_tensor|adam|sgd|optimizer') THEN 'optimizer'
        WHEN regexp_matches(own, 'embedding|gather|scatter|index') THEN 'embedding'
        WHEN regexp_matches(own, 'sort|topk|top_k|radix|bitonic') THEN 'sort'
        WHEN regexp_matches(own, 'triton|inductor|fused|xla') THEN 'fused'
        WHEN regexp_matches(full_name, 'dropout|philox|curand|distribution_') THEN 'random'
        WHEN regexp_matches(own, 'pool|reduce|scan|argmax|argmin|histogram|norm') THEN 'reduction'
        WHEN regexp_matches(own, 'copy|transpose|permute|catarray|memcpy|fill|memset')
            OR regexp_matches(full_name, 'direct_copy|fillfunctor') THEN 'copy'
        WHEN regexp_matches(own, 'elementwise|pointwise|vectorized|axpy|activation|unrolled')
            THEN 'elementwise'
        ELSE 'other' END AS category
    FROM ruled
)
SELECT gpu, category,
       100.0 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (PARTITION BY gpu), 0) AS percent,
       count(*) AS names, sum(calls)::BIGINT AS calls, sum(total_ns)::BIGINT AS total_ns,
       (sum(total_ns) / sum(calls))::DOUBLE AS mean_ns,
       arg_max(shown, (total_ns, shown)) AS longest_name
FROM sorted
GROUP BY gpu, category
ORDER BY gpu, total_ns DESC, category

-- What kind of work each kernel does, by its name.
--
-- computed: The first rule that the name meets: the function name, or for some words and for
--   CUTLASS the demangled one.
-- needs: kernel_time, kernel_name
-- limits: The rules know names of common libraries and compilers; "other" is what none knows.
-- columns:
--   mangled VARCHAR: Mangled name; one row each.
--   shown VARCHAR: Function name; of CUTLASS, where all functions are called Kernel, that of the
--     operator.
--   category VARCHAR: communication, attention, gemm, convolution, recurrent, normalization,
--     softmax, embedding, optimizer, sort, reduction, copy, random, elementwise, fused (by a
--     compiler), or other.
WITH names AS (
    SELECT mangled, any_value(demangled) AS demangled, any_value(short) AS short
    FROM kernel_name
    GROUP BY mangled
),
ruled AS (
    SELECT *, lower(shown) AS own, lower(whole) AS full_name,
           -- The function of CUTLASS is called Kernel; what it does stands in its arguments.
           lower(CASE WHEN contains(whole, 'cutlass::') THEN whole ELSE shown END) AS what
    FROM (
        SELECT work.name AS mangled, work.category AS kind, coalesce(short, work.name) AS shown,
               coalesce(demangled, work.name) AS whole,
               nullif(regexp_extract(demangled, 'cutlass::\w+<(?:\w+::)*(\w+)', 1), '')
                   AS operator
        FROM (SELECT name, any_value(category) AS category FROM kernel_time GROUP BY name) AS work
        LEFT JOIN names ON names.mangled = work.name
    )
)
SELECT mangled, coalesce(operator, shown) AS shown, CASE
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

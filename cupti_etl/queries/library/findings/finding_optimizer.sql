-- What an optimizer made of several kernels costs on each GPU that could be one.
--
-- computed: Kernels of PyTorch that do one operation on many tensors (_foreach), if there are three
--   or more: their time without the two longest, which together read and write what a fused Adam
--   does. The culprit is the longest.
-- requires: kernel
-- limits: Not only optimizers use them; averages of weights do, too.
-- finding: the optimizer passes over the parameters several times (estimated)
-- advice: do all of it in one kernel: in PyTorch fused=True (of Adam, AdamW, SGD and Adagrad), or
--   compile its step (torch.compile)
-- shown: kernel_summary
-- label: kernel = kernel(kernel)
WITH passes AS (
    SELECT gpu, name, total_ns
    FROM _kernel_time
    WHERE contains(name, 'multi_tensor_apply_kernel')
        AND regexp_matches(name, '(Unary|Binary|Ternary|Pointwise)Op')
)
SELECT gpu, TRY_CAST(list_sum(list(total_ns ORDER BY total_ns DESC)[3:]) AS BIGINT) AS saved_ns,
       concat(count(*), ' kernels, above all in') AS culprit,
       arg_max(name, (total_ns, name)) AS kernel
FROM passes
GROUP BY gpu
HAVING count(*) > 2
